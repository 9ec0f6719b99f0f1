package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// DefaultMaxBody is the most that Middleware reads of a body.
const DefaultMaxBody = 1 << 20

// rememberTime bounds Options.Remember, which does not end with the request.
const rememberTime = 10 * time.Second

// ErrTooLarge is what OnError is told of a body that is longer than MaxBody.
var ErrTooLarge = errors.New("webhook: the body is too large")

// Options say how Middleware judges. Secrets is required.
type Options struct {
	// Secrets are those that a delivery may be signed with: the current one, and
	// during a rotation the one before. See CheckSecret.
	Secrets []string
	// Tolerance is how far a timestamp may be from the clock. Defaults to
	// DefaultTolerance.
	Tolerance time.Duration
	// MaxBody is the longest body that is read, in bytes. Defaults to DefaultMaxBody.
	MaxBody int64
	// Require names the schemes that a delivery has to be signed by. Defaults to
	// Standard where Seen or Remember is set, as that alone covers the id, and to
	// either one where not.
	Require Scheme

	// Seen reports whether the delivery was handled before; such a repeat is answered
	// with 200 and goes no further. Its error is a 500, so that the delivery comes
	// again. Defaults to nothing was.
	Seen func(ctx context.Context, id string) (bool, error)
	// Remember is called when the handler has answered 2xx, before that answer
	// leaves: never for a handler that refused, failed or panicked. Its context
	// outlives the request, for ten seconds at most. Its error is a 500 in the
	// answer's place, and the delivery comes again. Leave it out where the handler
	// writes the id down in the transaction of its work.
	Remember func(ctx context.Context, id string) error

	// OnError is told why a request was not handed on: an error of Verify,
	// ErrTooLarge, or what Seen, Remember or reading the body returned. It has to be
	// safe for concurrent use. Defaults to telling nobody.
	OnError func(r *http.Request, err error)
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Middleware hands on to next the deliveries that verify, with their Delivery in
// the request's context (FromContext) and the body to be read again. Others are
// answered in a line of application/problem+json. At 401 (it does not verify), 405
// (not POST) and 413 (too long a body) the sender stops, and waits for its
// operator; after 408 (the body was cut short), 500 (secrets that cannot be used, a
// memory that fails) and 503 it comes again.
//
// With Seen or Remember, two requests of one delivery do not meet in next: the
// second waits for the first, as long as its client does, and is then a repeat or
// takes over. That holds for one Middleware; between processes it takes a unique key.
func Middleware(o Options, next http.Handler) http.Handler {
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.Require == 0 && (o.Seen != nil || o.Remember != nil) {
		o.Require = Standard
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.OnError == nil {
		o.OnError = func(*http.Request, error) {}
	}
	return &guard{Options: o, next: next, unfit: checkSecrets(o.Secrets)}
}

type contextKey struct{}

// FromContext returns the delivery that Middleware verified.
func FromContext(ctx context.Context) (Delivery, bool) {
	d, ok := ctx.Value(contextKey{}).(Delivery)
	return d, ok
}

// guard is a Middleware.
type guard struct {
	Options
	next  http.Handler
	unfit error // what is wrong with the secrets
	turns turns
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d, body, status, err := g.judge(w, r)
	if err != nil {
		g.refuse(w, r, status, err)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), contextKey{}, d))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if g.Seen == nil && g.Remember == nil {
		g.next.ServeHTTP(w, r)
		return
	}
	g.once(w, r, d.ID)
}

// judge returns the delivery and its body, or the status to refuse it with. The
// body is not touched before the headers are in order.
func (g *guard) judge(w http.ResponseWriter, r *http.Request) (d Delivery, body []byte, status int, err error) {
	if g.unfit != nil {
		return d, nil, http.StatusInternalServerError, g.unfit
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return d, nil, http.StatusMethodNotAllowed, fmt.Errorf("%w: deliveries are POST", ErrUnsigned)
	}
	c, err := readClaim(r.Header, g.Tolerance, g.Now())
	if err == nil && !c.delivery.Scheme.Has(g.Require) {
		err = fmt.Errorf("%w: wanted %v", ErrUnsigned, g.Require)
	}
	if err != nil {
		return d, nil, http.StatusUnauthorized, err
	}
	if r.ContentLength <= g.MaxBody { // unknown is -1
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, g.MaxBody))
	}
	if large := (*http.MaxBytesError)(nil); r.ContentLength > g.MaxBody || errors.As(err, &large) {
		return d, nil, http.StatusRequestEntityTooLarge, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, g.MaxBody)
	}
	if err != nil { // cut short on its way: the same delivery whole may be right
		return d, nil, http.StatusRequestTimeout, fmt.Errorf("webhook: reading the body: %w", err)
	}
	if d, err = c.verify(body, g.Secrets); err != nil {
		return d, nil, http.StatusUnauthorized, err
	}
	return d, body, http.StatusOK, nil
}

// once hands on what was not handled before.
func (g *guard) once(w http.ResponseWriter, r *http.Request, id string) {
	if err := g.turns.take(r.Context(), id); err != nil {
		g.refuse(w, r, http.StatusServiceUnavailable, fmt.Errorf("webhook: waiting for the same delivery: %w", err))
		return
	}
	defer g.turns.end(id)
	if g.Seen != nil {
		seen, err := g.Seen(r.Context(), id)
		if err != nil {
			g.refuse(w, r, http.StatusInternalServerError, fmt.Errorf("webhook: asking whether a delivery was handled: %w", err))
			return
		}
		if seen {
			w.WriteHeader(http.StatusOK)
			return
		}
	}
	if g.Remember == nil {
		g.next.ServeHTTP(w, r)
		return
	}
	a := &answer{ResponseWriter: w, remember: func() error { return g.remember(r.Context(), id) }}
	g.next.ServeHTTP(a, r)
	a.WriteHeader(http.StatusOK) // where the handler said nothing
	if a.err != nil {
		g.refuse(w, r, http.StatusInternalServerError, fmt.Errorf("webhook: remembering a delivery: %w", a.err))
	}
}

// remember goes on where the sender has gone: the work is done, and it will ask
// again.
func (g *guard) remember(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rememberTime)
	defer cancel()
	return g.Remember(ctx, id)
}

// refuse tells OnError all, and the sender a line.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	g.OnError(r, err)
	detail := strings.TrimPrefix(err.Error(), "webhook: ")
	if status >= http.StatusInternalServerError { // the receiver's own affair
		detail = "the receiver cannot take deliveries now"
	}
	text, _ := json.Marshal(struct { // a struct of these cannot fail
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(status), status, detail})
	h := w.Header()
	for name := range h { // what a handler set for another answer
		if name != "Allow" && name != "Connection" {
			h.Del(name)
		}
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a sender that has gone has gone
}
