package httpapi

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
)

// call is one request on its way through: who asks, by which route, and what
// was answered. It is the ResponseWriter of its handler, in one allocation.
type call struct {
	http.ResponseWriter // the connection's own
	api                 *API
	req                 *http.Request
	id, trace           string
	began               time.Time
	route               *route
	principal           *access.Principal
	fromCookie          bool
	entity, key         string // of /data paths, decoded
	operation           string // likewise
	status              int    // 0: nothing written yet
	failure             error  // what a refusal stands for; its cause is logged, never shown
}

func newCall(a *API, w http.ResponseWriter, r *http.Request) *call {
	c := &call{ResponseWriter: w, api: a, req: r, began: time.Now(), route: unknownRoute}
	if c.id = r.Header.Get("X-Request-Id"); !requestID(c.id) {
		c.id = rand.Text()
	}
	c.trace = traceID(r.Header.Get("Traceparent"))
	w.Header().Set("X-Request-Id", c.id)
	c.bound()
	return c
}

// Unwrap lets http.ResponseController reach the connection.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader notes the status.
func (c *call) WriteHeader(status int) {
	if c.status == 0 && status >= http.StatusOK {
		c.status = status
	}
	c.hurry()
	c.ResponseWriter.WriteHeader(status)
}

// Write notes that a body began.
func (c *call) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	return c.write(p)
}

// refuse answers with the problem that err is.
func (c *call) refuse(err error) {
	c.failure = err
	writeProblem(c, faultOf(err))
}

// finish runs when the handler is done, or has panicked. A response that had
// begun when its handler panicked is cut off rather than ended as if it were whole.
func (c *call) finish() {
	if v := recover(); v != nil {
		if v == http.ErrAbortHandler { //nolint:errorlint // net/http knows this very value only; wrapped it is a panic like any other
			panic(v)
		}
		c.logger().Error("handler panicked", "panic", v, "stack", string(debug.Stack()))
		if c.status != 0 || c.route.stream {
			panic(http.ErrAbortHandler)
		}
		c.refuse(fault.New(fault.Internal, "panic"))
	}
	took := time.Since(c.began)
	c.log(took)
	if c.api.config.Observe != nil && !c.route.stream {
		c.observe(took)
	}
}

func (c *call) observe(took time.Duration) {
	f := Finished{Route: c.route.pattern, Method: methodLabel(c.req.Method), Status: c.answered(), Took: took}
	if c.principal != nil {
		f.Tenant = c.principal.Tenant
	}
	c.api.config.Observe(f)
}

func (c *call) answered() int {
	if c.status == 0 {
		return http.StatusOK
	}
	return c.status
}

// log writes one line a request: what failed here as an error, all else where
// debug is on. No query, header or body is in it, so no token can be.
func (c *call) log(took time.Duration) {
	ctx := c.req.Context()
	level := slog.LevelDebug
	if c.status >= http.StatusInternalServerError && ctx.Err() == nil {
		level = slog.LevelError
	}
	if !c.api.config.Logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", c.req.Method), slog.String("path", c.req.URL.EscapedPath()),
		slog.Duration("took", took),
	}
	if !c.route.stream {
		attrs = append(attrs, slog.Int("status", c.answered()))
	}
	if c.principal != nil {
		attrs = append(attrs, slog.String("tenant", c.principal.Tenant), slog.String("principal", c.principal.ID))
	}
	if c.failure != nil {
		attrs = append(attrs, slog.Any("error", causeOf(c.failure)))
	}
	c.logger().LogAttrs(ctx, level, "request", attrs...)
}

func (c *call) logger() *slog.Logger {
	l := c.api.config.Logger.With("request", c.id)
	if c.trace != "" {
		l = l.With("trace", c.trace)
	}
	return l
}

// methodLabel keeps the metrics' label to the methods there are.
func methodLabel(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}
