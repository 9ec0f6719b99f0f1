// Package cluster runs two instances on one PostgreSQL and holds them to what
// one instance promises: every committed change once per id, in one order,
// whichever instance wrote it and whichever tells of it, while instances, the
// network and the database itself fail, and while transactions stop in the
// worst places.
//
// ROWCAST_CLUSTER sets how long instances are killed (20s); from a minute on,
// what else takes time takes its full length too.
package cluster

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/servertest"
)

const schema = `
entities:
  - name: item
    fields:
      - {name: id, type: string}
      - {name: n, type: int}
      - {name: pad, type: string}
    events: [{name: changed}]
    subscriptions:
      - {name: all}
      - {name: rows, rls: true}
  - name: note
    fields:
      - {name: id, type: string}
      - {name: owner_id, type: string, defaultvalue: user.id}
      - {name: n, type: int}
      - {name: pad, type: string}
    rowrules:
      - {name: own, actions: [read, update], language: expr, expression: row.owner_id == user.id}
    events: [{name: changed}]
    subscriptions:
      - {name: mine, rls: true}
  - name: task
    fields:
      - {name: id, type: string}
      - {name: n, type: int}
    realtime: {filterable: true}
`

// TestMain proves at the end that no test has left a goroutine.
func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// span is how long instances are killed.
func span(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("ROWCAST_CLUSTER")
	if text == "" {
		return 20 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.Fatalf("ROWCAST_CLUSTER is a duration such as 5m, not %q", text)
	}
	return d
}

// length returns the full length where there is time for it, and else the short one.
func length(t *testing.T, short, full time.Duration) time.Duration {
	t.Helper()
	if span(t) >= time.Minute {
		return full
	}
	return short
}

// instance starts one, which listens where it did when it is started again.
func instance(t *testing.T, database string) *servertest.Server {
	t.Helper()
	return servertest.StartProcess(t, servertest.Options{
		Schema: schema, Driver: "postgres", Database: database, Listen: servertest.FreeAddress(t),
	})
}

// A write on one instance is told on both, in one order; a stream goes on where
// it stopped on the other.
func TestBothInstancesTellOfAllWrites(t *testing.T) {
	database := pgtest.Database(t)
	one, two := instance(t, database).User("ann"), instance(t, database).User("ann")
	onOne, onTwo := one.Open("/subscribe/item?name=all"), two.Open("/subscribe/item?name=all")
	for i := range 20 {
		[]*servertest.Caller{one, two}[i%2].Post("/data/item", fmt.Sprintf(`{"id":"%d","n":0}`, i)).Is(201)
	}
	var told [2][]string
	for range 20 {
		told[0], told[1] = append(told[0], onOne.Frame().ID), append(told[1], onTwo.Frame().ID)
	}
	if !slices.Equal(told[0], told[1]) {
		t.Errorf("one tells  %v\nother tells %v", told[0], told[1])
	}
	resumed := two.Resume("/subscribe/item?name=all", told[0][9])
	for i := 10; i < 20; i++ {
		if f := resumed.Frame(); f.ID != told[0][i] {
			t.Errorf("resumed on the other: %s, want %s", f.ID, told[0][i])
		}
	}
}

// answer is how a request ended.
type answer struct {
	status int
	body   string
	err    error
}

// post sends a request whose answer may take long.
func post(t *testing.T, at *servertest.Server, path, body string) <-chan answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+at.Token("ann"))
	req.Header.Set("Content-Type", "application/json")
	ended := make(chan answer, 1)
	go func() {
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			ended <- answer{err: err}
			return
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		ended <- answer{resp.StatusCode, string(text), err}
	}()
	return ended
}

// await waits for a signal that must come.
func await[T any](t *testing.T, what string, signal <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-signal:
	case <-time.After(time.Minute):
		t.Fatalf("%s never comes", what)
	}
	return value
}
