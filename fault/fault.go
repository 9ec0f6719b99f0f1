// Package fault is what goes wrong on purpose: a code from one table, a
// sentence for a person, and details. It knows nothing of HTTP; the edge turns
// a code into a status in one table.
package fault

import (
	"errors"
	"fmt"
)

// Code names a kind of fault. It is stable: clients switch on it.
type Code string

// The codes. docs/problems.md explains each; a test holds the two together.
const (
	Unauthenticated        Code = "unauthenticated"
	Forbidden              Code = "forbidden"
	CrossOrigin            Code = "cross_origin"
	RouteNotFound          Code = "route_not_found"
	MethodNotAllowed       Code = "method_not_allowed"
	EntityNotFound         Code = "entity_not_found"
	OperationNotFound      Code = "operation_not_found"
	NotFound               Code = "not_found"
	NoSubscriptionDeclared Code = "no_subscription_declared"
	SubscriptionNotFound   Code = "subscription_not_found"
	SubscriptionAmbiguous  Code = "subscription_ambiguous"
	NoChannel              Code = "no_channel"
	NoTargetDeclared       Code = "no_target_declared"
	TargetNotFound         Code = "target_not_found"
	BadChannel             Code = "bad_channel"
	BadOps                 Code = "bad_ops"
	BadHeartbeat           Code = "bad_heartbeat"
	BadLifetime            Code = "bad_lifetime"
	BadParameter           Code = "bad_parameter"
	MalformedBody          Code = "malformed_body"
	BodyTooLarge           Code = "body_too_large"
	TooManyRows            Code = "too_many_rows"
	UnsupportedMediaType   Code = "unsupported_media_type"
	Invalid                Code = "invalid" // 422, see Details.Errors
	InvalidField           Code = "invalid_field"
	InvalidOperator        Code = "invalid_operator"
	InvalidValue           Code = "invalid_value"
	LimitExceeded          Code = "limit_exceeded"
	InvalidQuery           Code = "invalid_query" // 400, one or more of the four above in Errors
	InvalidCursor          Code = "invalid_cursor"
	RowRefused             Code = "row_refused"
	Conflict               Code = "conflict"
	AlreadyDeleted         Code = "already_deleted"
	NotDeleted             Code = "not_deleted"
	PreconditionFailed     Code = "precondition_failed"
	IdempotencyMismatch    Code = "idempotency_mismatch"
	EventConditionFailed   Code = "event_condition_failed"
	TooManyStreams         Code = "too_many_streams"
	Timeout                Code = "timeout"
	Unavailable            Code = "unavailable"
	Internal               Code = "internal"
)

// FieldError is one entry of a problem's errors.
type FieldError struct {
	Field  string `json:"field"`
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
}

// Fault is an error a caller can act on.
type Fault struct {
	Code      Code
	Message   string
	Errors    []FieldError
	Available []string // names that would have worked
	cause     error
}

// New returns a Fault.
func New(code Code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error implements error.
func (f *Fault) Error() string { return string(f.Code) + ": " + f.Message }

// Unwrap returns the cause, for logs; it is never shown to a caller.
func (f *Fault) Unwrap() error { return f.cause }

// Because returns f with a cause.
func (f *Fault) Because(err error) *Fault { f.cause = err; return f }

// With returns f with field errors.
func (f *Fault) With(errs ...FieldError) *Fault { f.Errors = append(f.Errors, errs...); return f }

// Of returns the Fault in err's chain.
func Of(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}

// Is reports whether err carries a Fault of that code.
func Is(err error, code Code) bool {
	f, ok := Of(err)
	return ok && f.Code == code
}
