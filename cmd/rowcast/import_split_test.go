package main_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
)

// ledger is a server that takes rows but those with the word bad, and does not
// say which they are.
type ledger struct {
	mu       sync.Mutex
	rows     []string
	requests int
	keys     map[string]bool
	drop     int // the request of which the rows are taken and the answer is lost
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	l.requests++
	if strings.Contains(string(body), "bad") {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"code":"row_refused","title":"x","detail":"not yours"}`)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if !l.keys[key] {
		l.rows = append(l.rows, strings.Split(strings.TrimSpace(string(body)), "\n")...)
	}
	if key != "" {
		l.keys[key] = true
	}
	if l.requests == l.drop {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"ids":[]}`)
}

func (l *ledger) serve(t *testing.T) (address string) {
	t.Helper()
	l.keys = map[string]bool{}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	return server.URL
}

// seen returns what was taken, and by how many requests.
func (l *ledger) seen() (rows []string, requests int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows, l.requests
}

// Where a refusal names no row, halves tell which it is about.
func TestARefusalThatNamesNoRowIsNarrowedDown(t *testing.T) {
	l := &ledger{drop: 3}
	var text, want strings.Builder
	for i := range 64 {
		word := "good"
		if i == 10 || i == 50 {
			word = "bad"
		} else {
			fmt.Fprintf(&want, "{\"good\":%d}\n", i)
		}
		fmt.Fprintf(&text, "{\"%s\":%d}\n", word, i)
	}
	got := transfer(t, l.serve(t), "x", "import", "item", file(t, "items.ndjson", text.String()))
	if got.status != 1 || got.stdout != "62 rows written, 2 lines refused\n" ||
		!strings.Contains(got.stderr, "line 11: 403: row_refused: not yours\n") || !strings.Contains(got.stderr, "line 51: 403: row_refused: not yours\n") {
		t.Errorf("got %+v", got)
	}
	rows, requests := l.seen()
	if got := strings.Join(rows, "\n") + "\n"; got != want.String() {
		t.Errorf("written: %s", got)
	}
	if requests > 30 {
		t.Errorf("it took %d requests", requests)
	}
}

// With a key a request whose answer was lost is made again and written once.
// Without one nobody knows, and the import ends where it is.
func TestALostAnswer(t *testing.T) {
	path := file(t, "items.ndjson", numbered(30))
	keyed := &ledger{drop: 2}
	got := transfer(t, keyed.serve(t), "x", "import", "item", path, "--batch", "10")
	if rows, requests := keyed.seen(); got.status != 0 || len(rows) != 30 || requests != 4 {
		t.Errorf("with a key: %+v, %d rows by %d requests", got, len(rows), requests)
	}
	anonymous := &ledger{drop: 2}
	got = transfer(t, anonymous.serve(t), "", "import", "item", path, "--batch", "10")
	if _, requests := anonymous.seen(); got.status != 1 || requests != 2 || !strings.Contains(got.stderr, "behind line 10, after 10 rows: ") || !strings.Contains(got.stderr, "call it again to go on") {
		t.Errorf("without: %+v, by %d requests", got, requests)
	}
	if err := os.Remove(path + ".import"); err != nil {
		t.Error(err)
	}
}
