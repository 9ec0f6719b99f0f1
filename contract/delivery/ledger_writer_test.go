package delivery

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/servertest"
)

// never begins the ids of rows that are only written by what is rolled back.
const never = "never-"

// row is what is known of a row: how many changes were sent, and acknowledged.
type row struct{ sent, done int }

// ledgerWriters write in all the ways there are, each rows of its own, and keep
// what they were answered. They outlive the servers.
type ledgerWriters struct {
	t     testing.TB
	urls  []string
	token string
	pause time.Duration // between two requests

	mu         sync.Mutex
	known      map[string]*row
	families   int
	rolledBack int
	stop       context.CancelFunc
	running    sync.WaitGroup
}

// newWriters returns writers at servers that listen where they did whenever they
// are started again.
func newWriters(t testing.TB, pause time.Duration, servers ...*servertest.Server) *ledgerWriters {
	w := &ledgerWriters{t: t, token: servers[0].Token("ann"), pause: pause, known: map[string]*row{}}
	for _, s := range servers {
		w.urls = append(w.urls, s.URL)
	}
	return w
}

// start has n of them write until halt, or gone is closed.
func (w *ledgerWriters) start(n int, gone <-chan struct{}) {
	ctx, cancel := context.WithCancel(w.t.Context())
	w.stop = cancel
	if gone != nil {
		w.running.Go(func() {
			defer cancel()
			select {
			case <-gone:
			case <-ctx.Done():
			}
		})
	}
	for i := range n {
		w.running.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			one := &ledgerWriter{ledgerWriters: w, http: &http.Client{Transport: transport, Timeout: time.Minute}, turn: i, roams: i == 0}
			for ctx.Err() == nil {
				one.family(context.WithoutCancel(ctx), w.next())
				servertest.Pass(ctx, w.pause)
			}
		})
	}
}

// halt lets them finish what they are at, and waits for it.
func (w *ledgerWriters) halt() {
	w.stop()
	w.running.Wait()
}

func (w *ledgerWriters) next() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.families++
	return fmt.Sprintf("w%d", w.families)
}

// rows returns what is known of each row.
func (w *ledgerWriters) rows() map[string]row {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[string]row, len(w.known))
	for id, r := range w.known {
		all[id] = *r
	}
	return all
}

// acknowledged returns how many changes were.
func (w *ledgerWriters) acknowledged() (n int) {
	for _, r := range w.rows() {
		n += r.done
	}
	return n
}

func (w *ledgerWriters) note(ids []string, what func(*row)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if w.known[id] == nil {
			w.known[id] = &row{}
		}
		what(w.known[id])
	}
}

// ledgerWriter is one of them, at work.
type ledgerWriter struct {
	*ledgerWriters
	http  *http.Client
	turn  int
	roams bool // each request goes to the next server
}

// step is a request that changes rows, each once.
type step struct {
	method, path, body string
	status             int
	rows               []string
}

// family writes a few rows from their first change to their last, and attempts
// what must fail whole. It ends where an answer is missing.
func (w *ledgerWriter) family(ctx context.Context, name string) {
	a, b, c, d, e, f, g, h := name+"-a", name+"-b", name+"-c", name+"-d", name+"-e", name+"-f", name+"-g", name+"-h"
	item, note := "/data/item/", "/data/note/"
	in := func(ids ...string) string { return "filter[id][in]=" + strings.Join(ids, ",") }
	failing := func(last string) step {
		return step{"POST", "/data/transaction", fmt.Sprintf(`{"writes":[{"op":"create","entity":"item","data":{"id":"%s%s","n":0}},
			{"op":"update","entity":"item","id":%q,"data":{"n":40}},{"op":"update","entity":"note","id":%q,"data":{"n":40}},%s]}`, never, name, a, g, last), 0, nil}
	}
	steps := []step{
		{"POST", item[:10], `{"id":"` + a + `","n":0,"code":"` + name + `"}`, 201, []string{a}},
		{"POST", note[:10], `{"id":"` + g + `","n":0}`, 201, []string{g}},
		{"PATCH", item + a, `{"n":1}`, 200, []string{a}},
		failing(`{"op":"create","entity":"note","data":{"id":"never-too","n":0,"owner_id":"somebody"}}`),
		{"POST", "/data/item/bulk", fmt.Sprintf(`[{"id":%q,"n":0},{"id":%q,"n":0},{"id":%q,"n":0}]`, b, c, d), 201, []string{b, c, d}},
		{"PATCH", "/data/item?" + in(b, c, d), `{"n":1}`, 200, []string{b, c, d}},
		{"PATCH", note + g, `{"n":1}`, 200, []string{g}},
		failing(`{"op":"create","entity":"item","data":{"id":"never-too","n":0,"code":"` + name + `"}}`),
		{"PATCH", item + a, `{"n":2}`, 200, []string{a}},
		{"DELETE", item + b, "", 204, []string{b}},
		{"POST", "/data/transaction", fmt.Sprintf(`{"writes":[{"op":"create","entity":"item","data":{"id":%q,"n":0}},
			{"op":"update","entity":"item","id":%q,"data":{"n":3}},{"op":"update","entity":"note","id":%q,"data":{"n":2}},
			{"op":"create","entity":"note","data":{"id":%q,"n":0}},{"op":"create","entity":"item","data":{"id":%q,"n":0}},
			{"op":"delete","entity":"item","id":%q}]}`, e, a, g, h, f, d), 200, []string{e, a, g, h, f, d}},
		{"POST", "/data/item/bulk", fmt.Sprintf(`[{"id":"%sbulk-%s","n":0},{"id":"never-too","n":51}]`, never, name), 0, nil},
		{"PATCH", "/data/note?" + in(g, h), `{"n":40,"owner_id":"somebody"}`, 0, nil},
		{"PATCH", note + g, `{"n":3}`, 200, []string{g}},
		{"DELETE", "/data/item?" + in(e, f), "", 200, []string{e, f}},
		{"PATCH", item + a, `{"n":51}`, 0, nil},
	}
	for _, s := range steps {
		if !w.take(ctx, s) {
			return
		}
		servertest.Pass(ctx, w.pause)
	}
}

// take sends a request, and reports whether it was answered as it had to be. What
// changes no row must be refused.
func (w *ledgerWriter) take(ctx context.Context, s step) bool {
	w.note(s.rows, func(r *row) { r.sent++ })
	status, answer := w.do(ctx, s)
	switch {
	case status == 0, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		servertest.Pass(ctx, 20*time.Millisecond)
		return false // a server died, or is about to
	case s.rows == nil && slices.Contains([]int{403, 409, 422}, status):
		w.mu.Lock()
		w.rolledBack++
		w.mu.Unlock()
		return true
	case s.rows == nil || status != s.status:
		w.t.Errorf("%s %s %s: status %d: %s", s.method, s.path, s.body, status, answer)
		return false
	}
	w.note(s.rows, func(r *row) { r.done++ })
	return true
}

// do returns status 0 where no answer came.
func (w *ledgerWriter) do(ctx context.Context, s step) (int, string) {
	if w.roams {
		w.turn++
	}
	req, err := http.NewRequestWithContext(ctx, s.method, w.urls[w.turn%len(w.urls)]+s.path, strings.NewReader(s.body))
	if err != nil {
		w.t.Error(err)
		return 0, ""
	}
	maps.Copy(req.Header, http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + w.token}})
	resp, err := w.http.Do(req)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, string(text)
}
