package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// proxy stands between a store and its database and breaks connections where a
// test says so.
type proxy struct {
	listener net.Listener
	socket   string
	// before is asked with what a client sends, after with what the server
	// answers: true breaks the connection and passes nothing on.
	before, after atomic.Pointer[func([]byte) bool]
	// deaf swallows everything, as a network that is gone.
	deaf atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
}

func newProxy(t *testing.T, database string) (*proxy, string) {
	t.Helper()
	parsed, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, socket: parsed.Query().Get("host") + "/.s.PGSQL.5432"}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p, "postgres://postgres@" + l.Addr().String() + parsed.Path + "?sslmode=disable"
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.socket)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.wg.Go(func() { p.pass(client, server, &p.before) })
		p.wg.Go(func() { p.pass(server, client, &p.after) })
	}
}

func (p *proxy) pass(from, to net.Conn, hook *atomic.Pointer[func([]byte) bool]) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if ask := hook.Load(); ask != nil && (*ask)(buf[:n]) {
			return
		}
		if p.deaf.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// once breaks at the first message that fits.
func once(fits func([]byte) bool) *func([]byte) bool {
	var done atomic.Bool
	f := func(b []byte) bool { return fits(b) && done.CompareAndSwap(false, true) }
	return &f
}

// saying fits what contains a text: a statement of the writer's, and nothing that
// the store asks by itself on another connection.
func saying(text string) func([]byte) bool {
	return func(b []byte) bool { return bytes.Contains(b, []byte(text)) }
}

// Wherever the connection breaks, the answer is true: what is acknowledged is
// there, what is refused is not, and only a COMMIT without an answer may be
// unknown.
func TestALostConnectionIsAnsweredTruthfully(t *testing.T) {
	insert, appends, committed := saying(`INSERT INTO "shop"."items"`), saying(`INSERT INTO "shop"._rowcast_log`), saying("COMMIT\x00")
	for name, c := range map[string]struct {
		inRun, late, atEnd func(p *proxy) // late: further writes follow, which are put off
		want               error          // nil: acknowledged
		there              bool
	}{
		"while the work runs":     {inRun: func(p *proxy) { p.before.Store(once(insert)) }, want: store.ErrUnavailable},
		"while writes wait":       {late: func(p *proxy) { p.before.Store(once(saying("later-2"))) }, want: store.ErrUnavailable},
		"gone while writes wait":  {late: func(p *proxy) { p.deaf.Store(true) }, want: store.ErrTimeout},
		"before the commit":       {atEnd: func(p *proxy) { p.before.Store(once(appends)) }, want: store.ErrUnknown},
		"after the commit":        {atEnd: func(p *proxy) { p.after.Store(once(committed)) }, there: true},
		"a network that is gone":  {atEnd: func(p *proxy) { p.deaf.Store(true) }, want: store.ErrUnknown},
		"a network gone in a run": {inRun: func(p *proxy) { p.deaf.Store(true) }, want: store.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := pgtest.Database(t)
			p, through := newProxy(t, database)
			s := open(t, Config{URL: through, Namespace: "shop", budget: 200 * time.Millisecond})
			if _, err := s.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{item}}); err != nil {
				t.Fatal(err)
			}
			err := s.Write(t.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error {
				if c.inRun != nil {
					if _, err := tx.Count(item, store.Query{}); err != nil {
						return err
					}
					c.inRun(p)
				}
				if err := tx.Insert(item, store.Row{value.OfText("a"), value.OfInt(1)}); err != nil {
					return err
				}
				if c.late != nil {
					c.late(p)
					for _, id := range []string{"later-1", "later-2"} {
						if err := tx.Insert(item, store.Row{value.OfText(id), value.OfInt(1)}); err != nil {
							return err
						}
					}
				}
				if c.atEnd != nil {
					c.atEnd(p)
				}
				return tx.Append(event("1", "a"))
			}})
			if !errors.Is(err, c.want) {
				t.Errorf("the writer is told %v, want %v", err, c.want)
			}
			p.deaf.Store(false)
			direct := open(t, Config{URL: database, Namespace: "shop"})
			if got := exists(t, direct); got != c.there {
				t.Errorf("the row is there: %v, want %v", got, c.there)
			}
			// The store goes on by itself.
			err = s.Write(t.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error {
				return tx.Insert(item, store.Row{value.OfText("b"), value.OfInt(1)})
			}})
			if err != nil {
				t.Errorf("the next write: %v", err)
			}
		})
	}
}

func exists(t *testing.T, s *Store) bool {
	t.Helper()
	var err error
	_ = s.View(t.Context(), func(r store.Reader) error { _, err = r.Get(item, value.OfText("a")); return nil })
	return err == nil
}

// A transaction that loses against others is run again, three times.
func TestALostTransactionRunsAgain(t *testing.T) {
	database := pgtest.Database(t)
	s := newInstance(t, database)
	runs := 0
	err := s.Write(t.Context(), store.Work{Run: func(_ context.Context, w store.Tx) error {
		if runs++; runs <= retries {
			_, err := w.(*tx).query("lose", "DO $$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = '40P01'; END $$", nil, nil)
			return err
		}
		return w.Insert(item, store.Row{value.OfText("a"), value.OfInt(1)})
	}})
	if err != nil || runs != retries+1 {
		t.Errorf("%v after %d runs, want none after %d", err, runs, retries+1)
	}
}

// The writes of one work travel together, so that many rows do not cost a round
// trip each.
func TestManyWritesTravelTogether(t *testing.T) {
	s := newInstance(t, pgtest.Database(t))
	const rows = maxLater + 10
	err := s.Write(t.Context(), store.Work{Run: func(_ context.Context, w store.Tx) error {
		for n := range rows {
			if err := w.Insert(item, store.Row{value.OfText(fmt.Sprint(n)), value.OfInt(1)}); err != nil {
				return err
			}
		}
		if got, want := len(w.(*tx).before), rows-1-maxLater; got != want {
			t.Errorf("%d writes wait to be sent, want %d: all but the first and one batch", got, want)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// A write that was put off loses against others like any other: the work runs
// again, three times.
func TestALateLossRunsAgain(t *testing.T) {
	s := newInstance(t, pgtest.Database(t))
	runs := 0
	err := s.Write(t.Context(), store.Work{Run: func(_ context.Context, w store.Tx) error {
		if err := w.Insert(item, store.Row{value.OfText("a"), value.OfInt(1)}); err != nil {
			return err
		}
		if runs++; runs > retries {
			return nil
		}
		return w.(*tx).putOff(statement{sql: "DO $$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = '40001'; END $$"})
	}})
	if err != nil || runs != retries+1 {
		t.Errorf("%v after %d runs, want none after %d", err, runs, retries+1)
	}
}
