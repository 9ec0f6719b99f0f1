package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/webhook"
)

// options are those of a receiver at the time now.
func options() webhook.Options {
	return webhook.Options{Secrets: []string{secret}, Now: func() time.Time { return now }}
}

// attempt is a request as a sender makes it.
func attempt(h http.Header, body io.Reader) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/hook", body)
	r.Header = h
	return r
}

// send hands a handler one attempt at the delivery.
func send(handler http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Result()
}

func genuine() *http.Request { return attempt(signed(now, secret), bytes.NewReader(body)) }

func text(t *testing.T, resp *http.Response) string {
	t.Helper()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// mustNot is a handler that nothing may reach.
func mustNot(t *testing.T) http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was handed on") })
}

func TestTheHandlerSeesDeliveryAndBody(t *testing.T) {
	handler := webhook.Middleware(options(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(got, body) || r.ContentLength != int64(len(body)) {
			t.Errorf("read %s (%d), %v", got, r.ContentLength, err)
		}
		if d, ok := webhook.FromContext(r.Context()); !ok || d != verified(webhook.Kisai|webhook.Standard) {
			t.Errorf("delivery %+v, %v", d, ok)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	if resp := send(handler, genuine()); resp.StatusCode != http.StatusNoContent {
		t.Errorf("status %d: %s", resp.StatusCode, text(t, resp))
	}
	if _, ok := webhook.FromContext(t.Context()); ok {
		t.Error("a context that went through no middleware has a delivery")
	}
}

func TestWhatIsNotHandedOn(t *testing.T) {
	chunked := func(n int) *http.Request {
		return attempt(signed(now, secret), io.MultiReader(bytes.NewReader(body), strings.NewReader(strings.Repeat(" ", n-len(body)))))
	}
	for name, c := range map[string]struct {
		request *http.Request
		change  func(*webhook.Options)
		status  int
		detail  string
		err     error
	}{
		"another secret": {attempt(signed(now, "another"), bytes.NewReader(body)), nil, 401, "under any secret known here", webhook.ErrSignature},
		"another body":   {attempt(signed(now, secret), strings.NewReader("{}")), nil, 401, "not that of this body", webhook.ErrSignature},
		"no headers":     {attempt(http.Header{}, bytes.NewReader(body)), nil, 401, "not signed", webhook.ErrUnsigned},
		"an old one":     {attempt(signed(now.Add(-time.Hour), secret), bytes.NewReader(body)), nil, 401, "timestamp", webhook.ErrTimestamp},
		"a header twice": {func() *http.Request {
			r := genuine()
			r.Header.Add(webhook.HeaderDelivery, "U2")
			return r
		}(), nil, 401, "X-Kisai-Delivery is there 2 times", webhook.ErrHeader},
		"not a POST": {func() *http.Request { r := genuine(); r.Method = http.MethodPut; return r }(), nil, 405, "POST", webhook.ErrUnsigned},
		"a scheme that is not the wanted": {func() *http.Request { r := genuine(); r.Header.Del(webhook.HeaderStandardSignature); return r }(),
			func(o *webhook.Options) { o.Require = webhook.Standard }, 401, "webhook-signature", webhook.ErrUnsigned},
		"an id that no signature covers, where ids count": {func() *http.Request { r := genuine(); r.Header.Del(webhook.HeaderStandardSignature); return r }(),
			func(o *webhook.Options) { o.Remember = func(context.Context, string) error { return nil } }, 401, "webhook-signature", webhook.ErrUnsigned},
		"a body of more than 1 MiB, its length not told": {chunked(1<<20 + 1), nil, 413, "more than 1048576 bytes", webhook.ErrTooLarge},
		"a body of 1 MiB is read, and not that signed":   {chunked(1 << 20), nil, 401, "signature", webhook.ErrSignature},
		"a body over the receiver's own limit":           {genuine(), func(o *webhook.Options) { o.MaxBody = 10 }, 413, "more than 10 bytes", webhook.ErrTooLarge},
		"a body cut short":                               {attempt(signed(now, secret), iotest.TimeoutReader(bytes.NewReader(body))), nil, 408, "reading the body", iotest.ErrTimeout},
		"a receiver without a secret":                    {genuine(), func(o *webhook.Options) { o.Secrets = nil }, 500, "cannot take deliveries now", webhook.ErrSecret},
		"a receiver with an empty secret":                {attempt(signed(now, ""), bytes.NewReader(body)), func(o *webhook.Options) { o.Secrets = []string{secret, ""} }, 500, "cannot take deliveries now", webhook.ErrSecret},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			if c.change != nil {
				c.change(&o)
			}
			var told []error
			o.OnError = func(_ *http.Request, err error) { told = append(told, err) }
			resp := send(webhook.Middleware(o, mustNot(t)), c.request)
			said := text(t, resp)
			if resp.StatusCode != c.status || resp.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(said, c.detail) {
				t.Errorf("answered %d %s: %s; want %d with %q", resp.StatusCode, resp.Header.Get("Content-Type"), said, c.status, c.detail)
			}
			if strings.Count(said, "\n") != 1 || strings.Contains(said, webhook.Sign(secret, "1789245912", body)) {
				t.Errorf("the answer tells too much: %s", said)
			}
			if len(told) != 1 || !errors.Is(told[0], c.err) {
				t.Errorf("OnError was told %v, want %v", told, c.err)
			}
		})
	}
}

// unread fails the test when somebody reads.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// A stranger cannot make a receiver hold a body: what is wrong in the headers is
// refused before.
func TestNoBodyIsReadForWrongHeaders(t *testing.T) {
	for name, h := range map[string]http.Header{"unsigned": {}, "long ago": signed(now.Add(-time.Hour), secret)} {
		t.Run(name, func(t *testing.T) {
			if resp := send(webhook.Middleware(options(), mustNot(t)), attempt(h, unread{t})); resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("status %d", resp.StatusCode)
			}
		})
	}
}

func TestNoBodyIsReadThatSaysItIsTooLarge(t *testing.T) {
	r := attempt(signed(now, secret), unread{t})
	r.ContentLength = 1<<20 + 1
	if resp := send(webhook.Middleware(options(), mustNot(t)), r); resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// memory is what a receiver remembers, with faults to order.
type memory struct {
	mu         sync.Mutex
	ids        map[string]bool
	seen, keep error // what goes wrong
}

func (m *memory) Seen(_ context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids[id], m.seen
}

func (m *memory) Remember(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keep == nil && ctx.Err() == nil {
		m.ids[id] = true
	}
	return errors.Join(m.keep, ctx.Err())
}

func remembering(m *memory) webhook.Options {
	m.ids = map[string]bool{}
	o := options()
	o.Seen, o.Remember = m.Seen, m.Remember
	return o
}

// A handler is called again for a delivery until it has answered 2xx, and never
// after that.
func TestOnlyWhatSucceededIsRemembered(t *testing.T) {
	answers := []http.HandlerFunc{
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not now", http.StatusInternalServerError) },
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnprocessableEntity) },
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			w.WriteHeader(http.StatusInternalServerError) // too late
		},
	}
	want := []int{500, 429, 422, 0, 202, 200, 200}
	m, calls := &memory{}, 0
	handler := webhook.Middleware(remembering(m), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		answers[calls-1](w, r)
	}))
	for i, status := range want {
		got := func() (status int) {
			defer func() { _ = recover() }() // as the server does
			return send(handler, genuine()).StatusCode
		}()
		if got != status {
			t.Errorf("attempt %d: got %d, want %d", i+1, got, status)
		}
		if m.ids[delivery.ID] != (i >= 4) {
			t.Errorf("attempt %d: remembered %v", i+1, m.ids)
		}
	}
	if calls != len(answers) {
		t.Errorf("handled %d times, want %d", calls, len(answers))
	}
}

// An interim answer says nothing of how it ends.
func TestAnInterimAnswerIsNotRemembered(t *testing.T) {
	m := &memory{}
	server := httptest.NewServer(webhook.Middleware(remembering(m), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusBadGateway)
	})))
	defer server.Close()
	r := genuine()
	r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", server.Listener.Addr().String()
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusBadGateway || m.ids[delivery.ID] {
		t.Errorf("status %d, remembered %v", resp.StatusCode, m.ids)
	}
}

func TestSilenceAndBytesAreA2xx(t *testing.T) {
	for name, next := range map[string]http.HandlerFunc{
		"silence": func(http.ResponseWriter, *http.Request) {},
		"bytes":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "thanks") },
	} {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			resp := send(webhook.Middleware(remembering(m), next), genuine())
			if resp.StatusCode != http.StatusOK || !m.ids[delivery.ID] {
				t.Errorf("status %d, remembered %v", resp.StatusCode, m.ids)
			}
			if said := text(t, resp); name == "bytes" && said != "thanks" {
				t.Errorf("said %q", said)
			}
		})
	}
}

// Where the memory fails the sender is not told 2xx, so that the delivery comes
// again; and the words of the failure stay here.
func TestAMemoryThatFails(t *testing.T) {
	broken := errors.New("connection to 10.0.0.9 refused")
	for name, c := range map[string]struct {
		memory  *memory
		handled int
	}{
		"asked":          {&memory{seen: broken}, 0},
		"told":           {&memory{keep: broken}, 1},
		"told in a word": {&memory{keep: broken}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			handled, told := 0, error(nil)
			o := remembering(c.memory)
			o.OnError = func(_ *http.Request, err error) { told = err }
			resp := send(webhook.Middleware(o, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				handled++
				w.Header().Set("Content-Length", "6")
				if name == "told in a word" {
					if _, err := io.WriteString(w, "thanks"); !errors.Is(err, broken) {
						t.Errorf("writing: %v", err)
					}
				}
			})), genuine())
			if said := text(t, resp); resp.StatusCode != http.StatusInternalServerError || strings.Contains(said, "10.0.0.9") || resp.Header.Get("Content-Length") == "6" {
				t.Errorf("answered %d %s %v", resp.StatusCode, said, resp.Header)
			}
			if handled != c.handled || !errors.Is(told, broken) {
				t.Errorf("handled %d times, want %d; OnError was told %v", handled, c.handled, told)
			}
		})
	}
}

// The sender has given up when the work is done. It is remembered all the same,
// since the delivery will come again.
func TestWhatWasDoneForASenderThatHasGoneIsRemembered(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &memory{}
	handler := webhook.Middleware(remembering(m), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() }))
	send(handler, genuine().WithContext(ctx))
	if !m.ids[delivery.ID] {
		t.Error("forgotten")
	}
}

// The attempt after a timeout arrives while the first one is still being handled.
func TestTwoAttemptsDoNotMeet(t *testing.T) {
	for name, c := range map[string]struct {
		first        int // what the handler answers the first time
		want         int // the second attempt
		handledTwice bool
	}{
		"the first succeeds": {204, 200, false},
		"the first fails":    {503, 204, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls, inside atomic.Int32
				release := make(chan struct{})
				handler := webhook.Middleware(remembering(&memory{}), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if d, _ := webhook.FromContext(r.Context()); d.ID != delivery.ID {
						return
					}
					if inside.Add(1) > 1 {
						t.Error("two at a time")
					}
					defer inside.Add(-1)
					if calls.Add(1) == 1 {
						<-release
						w.WriteHeader(c.first)
						return
					}
					w.WriteHeader(http.StatusNoContent)
				}))
				var first, second int
				var both sync.WaitGroup
				both.Go(func() { first = send(handler, genuine()).StatusCode })
				synctest.Wait()
				both.Go(func() { second = send(handler, genuine()).StatusCode })
				gone, cancel := context.WithCancel(t.Context())
				both.Go(func() {
					if resp := send(handler, genuine().WithContext(gone)); resp.StatusCode != http.StatusServiceUnavailable {
						t.Errorf("a client that left while it waited: %d", resp.StatusCode)
					}
				})
				synctest.Wait()
				cancel()
				synctest.Wait()
				if other := send(handler, otherDelivery()); other.StatusCode != http.StatusOK {
					t.Errorf("another delivery, which must not wait: %d", other.StatusCode)
				}
				close(release)
				both.Wait()
				if first != c.first || second != c.want {
					t.Errorf("answered %d and %d, want %d and %d", first, second, c.first, c.want)
				}
				if got := calls.Load() == 2; got != c.handledTwice {
					t.Errorf("handled %d times", calls.Load())
				}
			})
		})
	}
}

// otherDelivery is one with an id of its own.
func otherDelivery() *http.Request {
	h := http.Header{}
	webhook.SetHeaders(h, webhook.Delivery{ID: "U2"}, []string{secret}, now, body)
	return attempt(h, bytes.NewReader(body))
}
