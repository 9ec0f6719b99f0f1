package tenancy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/hub"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqlite"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/schema"
)

const bells = `
entities:
  - name: bell
    fields: [{name: id, type: ulid}, {name: n, type: int}]
    events: [{name: changed}]
    subscriptions: [{name: rings}]
`

// disk is a store whose reads can be made to fail.
type disk struct {
	store.Store
	down atomic.Bool
}

func (d *disk) View(ctx context.Context, fn func(store.Reader) error) error {
	if d.down.Load() {
		return store.ErrUnavailable
	}
	return d.Store.View(ctx, fn)
}

// Ping is a read here too.
func (d *disk) Ping(ctx context.Context) error {
	return d.View(ctx, func(store.Reader) error { return nil })
}

// world is a unit on a real SQLite file.
type world struct {
	t    *testing.T
	unit *Unit
	disk *disk
	done chan error
}

func modelOf(t *testing.T, text string) (*schema.Model, map[string]*access.Policy) {
	t.Helper()
	model, refusals := schema.Parse([]schema.Source{{Name: "bells.yaml", Data: []byte(text)}})
	if len(refusals) > 0 {
		t.Fatal(refusals)
	}
	policies := map[string]*access.Policy{}
	for _, e := range model.Entities {
		policies[e.Name], refusals = access.Compile(e)
		if len(refusals) > 0 {
			t.Fatal(refusals)
		}
	}
	return model, policies
}

// config is that of a unit with these bells in a file.
func config(t *testing.T, tenant, text, path string, d *disk) Config {
	t.Helper()
	model, policies := modelOf(t, text)
	quiet := slog.New(slog.DiscardHandler)
	return Config{
		Tenant: tenant, Datastore: "main", Model: model, Policies: policies, IDs: event.NewSource(nil),
		Retention: 10 * time.Minute, Logger: quiet,
		Driver: func(ctx context.Context, follow *tail.Tail) (store.Store, error) {
			file, err := sqlite.Open(ctx, sqlite.Config{Path: path, Committed: follow.Offer, Logger: quiet, LockWait: time.Millisecond})
			if err != nil {
				return nil, err
			}
			d.Store = file
			return d, nil
		},
	}
}

// inWorld runs a test on a running unit in a bubble of synthetic time.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.db")
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, disk: &disk{}, done: make(chan error, 1)}
		var err error
		if w.unit, err = Open(t.Context(), config(t, "t", bells, path, w.disk)); err != nil {
			t.Fatal(err)
		}
		test(t, w)
	})
}

// run runs the unit until the end of the test.
func (w *world) run() {
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	go func() { w.done <- w.unit.Run(ctx) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-w.done; err != nil {
			w.t.Error(err)
		}
	})
}

// ring writes a bell, and so a log row.
func (w *world) ring() {
	w.t.Helper()
	g, err := w.unit.Engine.Grant(&access.Principal{ID: "ann", Tenant: "t"}, "bell", access.Create)
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := engine.DecodeBody([]byte(`{"n":1}`))
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.unit.Engine.Create(w.t.Context(), g, b, engine.Options{}); err != nil {
		w.t.Fatal(err)
	}
}

// floor returns the number of the last log row that was removed.
func (w *world) floor() int64 {
	w.t.Helper()
	var floor store.Position
	err := w.disk.Store.View(w.t.Context(), func(r store.Reader) (err error) {
		floor, err = r.Floor()
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return floor.Seq
}

// Log rows are kept for the retention, and then removed within a minute.
func TestLogRowsAreKeptForTheRetention(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		<-w.unit.Tail.Ready()
		for range 3 {
			w.ring()
		}
		<-time.After(5 * time.Minute)
		w.ring()
		<-time.After(5*time.Minute - time.Second)
		if got := w.floor(); got != 0 {
			t.Errorf("rows up to %d were removed before their time", got)
		}
		<-time.After(2 * time.Minute)
		if got := w.floor(); got != 3 {
			t.Errorf("rows up to %d are removed, want those that are older than the retention, up to 3", got)
		}
	})
}

// A backlog of old rows goes in small steps, one soon after the other.
func TestABacklogIsRemovedInSteps(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const n = 3*pruneRows + 7
		for range n {
			w.ring()
		}
		<-time.After(time.Hour)
		began := time.Now()
		w.run()
		for w.floor() < n {
			<-time.After(prunePause)
			if time.Since(began) > pruneEvery+time.Second { // at the second look at the latest
				t.Fatalf("after a minute rows up to %d are removed, want %d", w.floor(), n)
			}
		}
	})
}

// What the tail has not handed on is kept, however long it cannot read: else a
// stream that is live would miss it and never be told.
func TestTheLogIsKeptForATailThatIsBehind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.disk.down.Store(true)
		w.run()
		w.ring()
		<-time.After(30 * time.Minute)
		if got := w.floor(); got != 0 {
			t.Errorf("rows up to %d were removed and had been handed to nobody", got)
		}
		w.disk.down.Store(false)
		<-time.After(2 * time.Minute)
		if got := w.floor(); got != 1 {
			t.Errorf("rows up to %d are removed once the tail has gone on, want 1", got)
		}
	})
}

// A unit is not ready while its log is not open, and when its
// store has not answered for ten seconds; a hiccup and lag are no reason.
func TestReadiness(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		if got := w.unit.Unready(); got != "a change log is not open yet" {
			t.Errorf("before it runs: %q", got)
		}
		w.run()
		<-w.unit.Tail.Ready()
		ready := func(when string, want bool) {
			t.Helper()
			if got := w.unit.Unready(); (got == "") != want {
				t.Errorf("%s: %q", when, got)
			}
		}
		ready("as soon as the log is open", true)
		<-time.After(time.Hour)
		ready("after an hour", true)
		w.disk.down.Store(true)
		<-time.After(9 * time.Second)
		ready("after a hiccup of 9 s", true)
		<-time.After(3 * time.Second)
		ready("after 12 s without an answer", false)
		if got := w.unit.Unready(); strings.Contains(got, "main") || strings.Contains(got, "t.db") {
			t.Errorf("the reason, which anybody may read, names a datastore: %q", got)
		}
		w.disk.down.Store(false)
		<-time.After(2 * time.Second)
		ready("when it answers again", true)
	})
}

// A unit that was opened long before it runs is ready as soon as its log is open.
func TestReadyBeforeTheFirstLook(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		<-time.After(time.Hour)
		w.run()
		<-w.unit.Tail.Ready()
		if got := w.unit.Unready(); got != "" {
			t.Errorf("not ready: %s", got)
		}
	})
}

// When Run has returned nothing is left: no goroutine, and no lock on the file.
func TestRunLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	before := goleak.IgnoreCurrent()
	for range 2 {
		u, err := Open(t.Context(), config(t, "t", bells, path, &disk{}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- u.Run(ctx) }()
		<-u.Tail.Ready()
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		goleak.VerifyNone(t, before)
	}
}

// A failed Open leaves nothing open, wherever it failed.
func TestAFailedOpenLeavesNothing(t *testing.T) {
	badFilter := strings.Replace(bells, "{name: rings}", `{name: rings, filter: {language: expr, expression: payload.nosuch}}`, 1)
	other := strings.Replace(bells, "type: int", "type: string", 1)
	for name, c := range map[string]struct{ before, text string }{
		"a filter that does not compile": {"", badFilter},
		"a table of another type":        {other, bells},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t.db")
			if c.before != "" {
				u, err := Open(t.Context(), config(t, "t", c.before, path, &disk{}))
				if err != nil {
					t.Fatal(err)
				}
				if err := u.store.Close(); err != nil {
					t.Fatal(err)
				}
			}
			before := goleak.IgnoreCurrent()
			u, err := Open(t.Context(), config(t, "t", c.text, path, &disk{}))
			if err == nil || u != nil {
				t.Fatalf("Open returned %v, %v", u, err)
			}
			var refusals document.Refusals
			if c.text == badFilter && !errors.As(err, &refusals) {
				t.Errorf("%v is not a list of refusals", err)
			}
			goleak.VerifyNone(t, before)
			lock, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, LockWait: time.Millisecond})
			if err != nil {
				t.Fatalf("the file is still held: %v", err)
			}
			_ = lock.Close()
		})
	}
}

// The error of a datastore that does not open names it.
func TestADatastoreThatDoesNotOpen(t *testing.T) {
	before := goleak.IgnoreCurrent()
	c := config(t, "acme", bells, t.TempDir(), &disk{}) // a folder is no file
	_, err := Open(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "datastore main of tenant acme") {
		t.Errorf("got %v", err)
	}
	goleak.VerifyNone(t, before)
}

// A registry finds a tenant's own units and nobody else's, and runs and closes
// all of them.
func TestRegistry(t *testing.T) {
	before := goleak.IgnoreCurrent()
	var r Registry
	for _, tenant := range []string{"a", "b"} {
		u, err := Open(t.Context(), config(t, tenant, bells, filepath.Join(t.TempDir(), "t.db"), &disk{}))
		if err != nil {
			t.Fatal(err)
		}
		r.Add(u)
	}
	for _, c := range []struct {
		tenant, entity string
		want           bool
	}{{"a", "bell", true}, {"b", "bell", true}, {"c", "bell", false}, {"", "bell", false}, {"a", "nosuch", false}} {
		_, unit := r.Unit(c.tenant, c.entity)
		_, streams := r.Streams(c.tenant, c.entity)
		if unit != c.want || streams != c.want {
			t.Errorf("%+v: engine %v, streams %v", c, unit, streams)
		}
	}
	a, _ := r.Unit("a", "bell")
	if b, _ := r.Unit("b", "bell"); a == b {
		t.Error("two tenants share an engine")
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Ready(impatient); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for a registry that does not run: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	if err := r.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.CloseStreams()
	for _, u := range r.Units() {
		if _, open := u.Hub.Register(&hub.Declared{}, hub.Start{}, time.Minute); open {
			t.Error("a stream was opened after all were closed")
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, u := range r.Units() {
		if err := u.store.Ping(context.WithoutCancel(t.Context())); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a store answers after the end: %v", err)
		}
	}
	goleak.VerifyNone(t, before)
}

// Discard closes what was never run.
func TestDiscard(t *testing.T) {
	before := goleak.IgnoreCurrent()
	var r Registry
	for i := range 2 {
		u, err := Open(t.Context(), config(t, fmt.Sprint(i), bells, filepath.Join(t.TempDir(), "t.db"), &disk{}))
		if err != nil {
			t.Fatal(err)
		}
		r.Add(u)
	}
	if err := r.Discard(); err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, before)
}
