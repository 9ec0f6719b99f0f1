package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/auth"
	"github.com/rowcast/rowcast/internal/store"
)

// problem is the body of a refusal: RFC 9457, with code and the details that
// let a caller act on it.
type problem struct {
	Type      string             `json:"type"`
	Title     string             `json:"title"`
	Status    int                `json:"status"`
	Detail    string             `json:"detail,omitempty"`
	Code      fault.Code         `json:"code"`
	Errors    []fault.FieldError `json:"errors,omitempty"`
	Available []string           `json:"available,omitempty"`
}

// kind is a row of the one table between codes and HTTP.
type kind struct {
	status int
	title  string
}

// kinds has a row for each code. docs/problems.md explains them to a reader; a
// test holds fault, this table and the page together.
var kinds = map[fault.Code]kind{
	fault.Unauthenticated:        {http.StatusUnauthorized, "A valid credential is needed"},
	fault.Forbidden:              {http.StatusForbidden, "Not allowed"},
	fault.CrossOrigin:            {http.StatusForbidden, "Refused from another origin"},
	fault.RouteNotFound:          {http.StatusNotFound, "No such route"},
	fault.MethodNotAllowed:       {http.StatusMethodNotAllowed, "Method not allowed here"},
	fault.EntityNotFound:         {http.StatusNotFound, "No such entity"},
	fault.OperationNotFound:      {http.StatusNotFound, "No such operation"},
	fault.NotFound:               {http.StatusNotFound, "No such row"},
	fault.NoSubscriptionDeclared: {http.StatusNotFound, "The entity has no stream"},
	fault.SubscriptionNotFound:   {http.StatusNotFound, "No such subscription"},
	fault.SubscriptionAmbiguous:  {http.StatusBadRequest, "Name one of the subscriptions"},
	fault.NoChannel:              {http.StatusNotFound, "The entity has no channels"},
	fault.NoTargetDeclared:       {http.StatusConflict, "No target is declared"},
	fault.TargetNotFound:         {http.StatusNotFound, "No such target"},
	fault.BadChannel:             {http.StatusBadRequest, "Bad channel parameter"},
	fault.BadOps:                 {http.StatusBadRequest, "Bad ops parameter"},
	fault.BadHeartbeat:           {http.StatusBadRequest, "Bad heartbeat parameter"},
	fault.BadLifetime:            {http.StatusBadRequest, "Bad lifetime parameter"},
	fault.BadParameter:           {http.StatusBadRequest, "Bad parameter"},
	fault.MalformedBody:          {http.StatusBadRequest, "The body cannot be read"},
	fault.BodyTooLarge:           {http.StatusRequestEntityTooLarge, "The body is too large"},
	fault.TooManyRows:            {http.StatusRequestEntityTooLarge, "Too many rows in one request"},
	fault.UnsupportedMediaType:   {http.StatusUnsupportedMediaType, "Unsupported content type"},
	fault.Invalid:                {http.StatusUnprocessableEntity, "The data is not valid"},
	fault.InvalidField:           {http.StatusBadRequest, "Unknown or unusable field"},
	fault.InvalidOperator:        {http.StatusBadRequest, "Unknown operator"},
	fault.InvalidValue:           {http.StatusBadRequest, "Unusable value"},
	fault.LimitExceeded:          {http.StatusBadRequest, "Over a limit of the filter"},
	fault.InvalidQuery:           {http.StatusBadRequest, "The query is not valid"},
	fault.InvalidCursor:          {http.StatusBadRequest, "The cursor does not belong to this list"},
	fault.RowRefused:             {http.StatusForbidden, "The row rules refuse this"},
	fault.Conflict:               {http.StatusConflict, "Conflicts with another row"},
	fault.AlreadyDeleted:         {http.StatusConflict, "The row is deleted already"},
	fault.NotDeleted:             {http.StatusConflict, "The row is not deleted"},
	fault.PreconditionFailed:     {http.StatusPreconditionFailed, "The row is no longer what the request expects"},
	fault.IdempotencyMismatch:    {http.StatusUnprocessableEntity, "The key was used for another request"},
	fault.EventConditionFailed:   {http.StatusInternalServerError, "An event's condition could not be evaluated"},
	fault.TooManyStreams:         {http.StatusTooManyRequests, "Too many open streams"},
	fault.Timeout:                {http.StatusGatewayTimeout, "The query took too long"},
	fault.Unavailable:            {http.StatusServiceUnavailable, "Not available for the moment"},
	fault.Internal:               {http.StatusInternalServerError, "The server failed"},
}

// retryAfter is the seconds after which a caller may try what was unavailable again.
const retryAfter = "5"

// Problem answers a request with the problem that err is. An error that is no
// fault is "internal" and shows nothing of itself. Nothing may have been written before.
func Problem(w http.ResponseWriter, err error) { writeProblem(w, faultOf(err)) }

func writeProblem(w http.ResponseWriter, f *fault.Fault) {
	k, ok := kinds[f.Code]
	if !ok || f.Code == fault.Internal {
		f = fault.New(fault.Internal, "the request could not be finished; the log has the reason under the id in X-Request-Id")
		k = kinds[fault.Internal]
	}
	h := w.Header()
	switch f.Code {
	case fault.Unauthenticated:
		h.Set("WWW-Authenticate", auth.Challenge)
	case fault.Unavailable, fault.TooManyStreams:
		h.Set("Retry-After", retryAfter)
	default: // the others have no header of their own
	}
	h.Del("ETag")
	h.Del("Location")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	writeBody(w, k.status, "application/problem+json", encode(problem{
		Type:   "urn:rowcast:problem:" + string(f.Code),
		Title:  k.title,
		Status: k.status,
		Detail: f.Message,
		Code:   f.Code, Errors: f.Errors, Available: f.Available,
	}))
}

// encode is for documents of our own; rows are rendered by render.Row.
func encode(doc any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return []byte("{}")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// faultOf returns the fault in err's chain, or the one that err amounts to.
func faultOf(err error) *fault.Fault {
	if f, ok := fault.Of(err); ok {
		return f
	}
	switch {
	case errors.Is(err, store.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Timeout, "the query took longer than this server allows").Because(err)
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrClosed), errors.Is(err, context.Canceled):
		return fault.New(fault.Unavailable, "the datastore cannot be reached").Because(err)
	}
	return fault.New(fault.Internal, "internal").Because(err)
}

// causeOf returns what a log should say of err: a fault's cause beside the fault.
func causeOf(err error) error {
	if f, ok := fault.Of(err); ok && f.Unwrap() != nil {
		return errors.Join(err, f.Unwrap())
	}
	return err
}
