package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// driver is a datastore that deliveries are measured on.
type driver struct {
	name string // as the table names it
	// document makes the boot document of a server with an empty datastore.
	document func(context.Context, *lab) (string, error)
	shared   bool // the database's own processes work for it
}

var (
	onSQLite = driver{name: "SQLite", document: func(context.Context, *lab) (string, error) { return bootDocument, nil }}

	onPostgres = driver{name: "PostgreSQL", shared: true, document: func(ctx context.Context, l *lab) (string, error) {
		_, url, err := l.database.create(ctx)
		return sharedDocument(url, 1), err
	}}
)

// target is one that a server delivers to: way and name make the path, see
// bench/receive.
type target struct{ name, way string }

// accepting returns n targets that accept all.
func accepting(n int) []target {
	targets := make([]target, n)
	for i := range targets {
		targets[i] = target{fmt.Sprintf("t%02d", i+1), "accept"}
	}
	return targets
}

// delivering is a server that delivers, and who receives from it.
type delivering struct {
	*server

	lab      *lab
	driver   driver
	receiver *receiver
	targets  []target
}

// delivering runs measure on a fresh server, with an empty datastore, that
// delivers the rows of "told" to targets of a fresh receiver.
func (l *lab) delivering(ctx context.Context, d driver, targets []target, measure func(*delivering) error) error {
	return l.receiving(ctx, func(r *receiver) error {
		document, err := d.document(ctx, l)
		if err != nil {
			return err
		}
		document += targetsDocument(r.addr, targets)
		start := func(ctx context.Context) (*server, error) { return l.startWith(ctx, document) }
		return on(ctx, start, func(s *server) error {
			err := measure(&delivering{server: s, lab: l, driver: d, receiver: r, targets: targets})
			_ = r.stop() // so that the server waits for none that does not answer
			return err
		})
	})
}

// targetsDocument is the part of the boot document that declares the targets.
// All stands at its default but the timeout, which is longer than a receiver
// is late or holds its answers back.
func targetsDocument(addr string, targets []target) string {
	var b strings.Builder
	b.WriteString("events:\n  targets:\n")
	for _, t := range targets {
		fmt.Fprintf(&b, "    %s: {url: \"http://%s/%s/%s\", secret: %q, topics: [entity.told], timeout: 30s}\n", t.name, addr, t.way, t.name, secret)
	}
	return b.String()
}

// work returns the processor time that the server, and its database, have used.
func (s *delivering) work() (time.Duration, error) {
	sum, err := s.cpu()
	if err != nil || !s.driver.shared {
		return sum, err
	}
	database, err := s.lab.database.cpu()
	return sum + database, err
}

// receiver is a process of bench/receive.
type receiver struct {
	*server
}

// receiving runs measure with a fresh receiver.
func (l *lab) receiving(ctx context.Context, measure func(*receiver) error) error {
	start := func(ctx context.Context) (*server, error) {
		dir, err := os.MkdirTemp(l.out, "run-")
		if err != nil {
			return nil, err
		}
		return launch(ctx, "receiver", dir, l.receive)
	}
	return on(ctx, start, func(s *server) error { return measure(&receiver{s}) })
}

// counts is how much a receiver has accepted.
type counts struct {
	Requests int `json:"requests"`
	Distinct int `json:"distinct"`
}

// arrival is one delivery as it came.
type arrival struct {
	Name    string `json:"name"`
	Subject string `json:"subject"`
	At      int64  `json:"at"` // Unix nanoseconds
}

func (r *receiver) counts(ctx context.Context) (c counts, err error) {
	err = r.get(ctx, "/counts", &c)
	return c, err
}

func (r *receiver) arrivals(ctx context.Context) (all []arrival, err error) {
	err = r.get(ctx, "/arrivals", &all)
	return all, err
}

// hold has the receiver answer nothing until it is let go.
func (r *receiver) hold(ctx context.Context) error  { return r.get(ctx, "/hold", &counts{}) }
func (r *receiver) letGo(ctx context.Context) error { return r.get(ctx, "/go", &counts{}) }

func (r *receiver) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.addr+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the receiver says %s to %s", answer.Status, path)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// await waits until the receiver has accepted so many distinct deliveries, or
// nothing came any more for five seconds, and returns when that was seen.
func (r *receiver) await(ctx context.Context, want int) (at time.Time, err error) {
	last, since := counts{}, time.Now()
	for {
		c, err := r.counts(ctx)
		at = time.Now()
		if err != nil || c.Distinct >= want {
			return at, err
		}
		if c != last {
			last, since = c, at
		} else if at.Sub(since) > 5*time.Second {
			return at, nil
		}
		if err := wait(ctx, 5*time.Millisecond); err != nil {
			return at, err
		}
	}
}
