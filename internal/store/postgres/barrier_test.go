package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

var item = &schema.Entity{Name: "item", Table: "items", Fields: []*schema.Field{
	{Name: "id", Type: value.String}, {Name: "n", Type: value.BigInt, Index: 1},
}}

// instance is one store that follows the log as a tail does.
type instance struct {
	*Store
	looked chan struct{}
	after  int64
	seen   []string         // event ids
	counts map[string]int64 // changes told of each row
}

func newInstance(t *testing.T, url string) *instance {
	t.Helper()
	i := &instance{looked: make(chan struct{}, 1), counts: map[string]int64{}}
	i.Store = open(t, Config{URL: url, Namespace: "shop", poll: time.Hour, Look: func() {
		select {
		case i.looked <- struct{}{}:
		default:
		}
	}})
	if _, err := i.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{item}}); err != nil {
		t.Fatal(err)
	}
	return i
}

// read takes what may be read now.
func (i *instance) read(t *testing.T) {
	t.Helper()
	for more := true; more; {
		err := i.View(t.Context(), func(r store.Reader) error {
			rows, err := r.Log(i.after, page)
			for _, row := range rows {
				i.after = row.Seq
				i.seen = append(i.seen, row.EventID)
				if row.Guard.After != nil {
					if n := row.Guard.After[1].Int(); n != i.counts[row.Subject]+1 {
						t.Errorf("row %s: change %d is told after change %d", row.Subject, n, i.counts[row.Subject])
					}
					i.counts[row.Subject]++
				}
			}
			more = len(rows) == page
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

const page = 100

// until reads, whenever it is woken, until it has seen so many events.
func (i *instance) until(t *testing.T, n int, patience time.Duration) time.Duration {
	t.Helper()
	began, deadline := time.Now(), time.After(patience)
	for i.read(t); len(i.seen) < n; i.read(t) {
		select {
		case <-i.looked:
		case <-deadline:
			t.Fatalf("%d events after %s, want %d: %v", len(i.seen), patience, n, i.seen)
		}
	}
	return time.Since(began)
}

// awaitLocks waits until the lock holders have been read for every gap.
func (i *instance) awaitLocks(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		i.barrier.mu.Lock()
		all := len(i.barrier.gaps) > 0 && !slices.ContainsFunc(i.barrier.gaps, func(g *gap) bool { return !g.seen })
		i.barrier.mu.Unlock()
		if all {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("no gap is looked into")
		}
	}
}

// event is a log row about an item.
func event(id, subject string) *store.LogRow {
	return &store.LogRow{EventID: id, Entity: "item", Operation: schema.Update, Fine: "patched", Topic: "entity.item", Subject: subject, Time: time.Now()}
}

// write appends one event, through the store.
func (i *instance) write(t *testing.T, id string) {
	t.Helper()
	err := i.Write(t.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error { return tx.Append(event(id, "a")) }})
	if err != nil {
		t.Fatal(err)
	}
}

// paused is a transaction that stops wherever a test wants.
type paused struct {
	t *testing.T
	s *Store
	*pgx.Conn
}

// pause begins one as the driver does.
func pause(t *testing.T, s *Store, url string) *paused {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	p := &paused{t, s, conn}
	for _, b := range s.sql.begin(time.Minute) {
		p.run(b.sql, b.args...)
	}
	return p
}

func (p *paused) run(sql string, args ...any) {
	p.t.Helper()
	if _, err := p.Exec(p.t.Context(), sql, args...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *paused) append(id, subject string) {
	p.t.Helper()
	insert, err := p.s.logStatement([]*store.LogRow{event(id, subject)})
	if err != nil {
		p.t.Fatal(err)
	}
	p.run(insert.sql, insert.args...)
}

// Transactions end in another order than they drew their numbers in; one takes
// its transaction id early and changes another's row late; one rolls back. Both
// instances tell all of it, in one order, each row's changes as they committed.
func TestLateCommitsAreToldInOrderOnEveryInstance(t *testing.T) {
	url := pgtest.Database(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	one, two := newInstance(t, url), newInstance(t, url)
	defer func() { _, _ = one.Close(), two.Close() }()

	t1, t2, t3, t4 := pause(t, one.Store, url), pause(t, one.Store, url), pause(t, one.Store, url), pause(t, one.Store, url)
	t3.run("SELECT pg_current_xact_id()")
	t1.append("1", "a")
	t2.run("INSERT INTO shop.items VALUES ('b', 1)")
	t2.append("2", "b")
	t2.run("COMMIT")
	t4.append("3 is rolled back", "c")
	t3.run("UPDATE shop.items SET n = 2 WHERE id = 'b'")
	t3.append("4", "b")
	t3.run("COMMIT")
	one.write(t, "5")
	for _, i := range []*instance{one, two} {
		if i.read(t); len(i.seen) != 0 {
			t.Errorf("told %v while the first is open", i.seen)
		}
	}
	t4.run("ROLLBACK")
	t1.run("COMMIT")
	want := []string{"1", "2", "4", "5"}
	for _, i := range []*instance{one, two} {
		if i.until(t, len(want), 5*time.Second); !slices.Equal(i.seen, want) {
			t.Errorf("told %v, want %v", i.seen, want)
		}
	}
}

// A transaction that writes rows and never appends delays nobody, however long
// it is open; nor does one that began to append after the gap was seen.
func TestAnUnrelatedWriterDelaysNobody(t *testing.T) {
	url := pgtest.Database(t)
	one, two := newInstance(t, url), newInstance(t, url)
	unrelated := pause(t, one.Store, url)
	unrelated.run("INSERT INTO shop.items VALUES ('x', 1)")
	gone := pause(t, one.Store, url)
	gone.append("gone", "a")
	one.write(t, "1")
	for _, i := range []*instance{one, two} {
		i.read(t)
		i.awaitLocks(t)
	}
	later := pause(t, one.Store, url)
	later.append("later", "a")
	gone.run("ROLLBACK")
	for _, i := range []*instance{one, two} {
		if took := i.until(t, 1, 5*time.Second); took > time.Second {
			t.Errorf("took %s beside transactions that cannot fill the gap", took)
		}
	}
}

// An instance that starts while a lower number is open is not ready before it
// is decided, and whoever resumes from below is told of it.
func TestStartingWhileALowerNumberIsOpen(t *testing.T) {
	url := pgtest.Database(t)
	one := newInstance(t, url)
	low := pause(t, one.Store, url)
	low.append("low", "a")
	one.write(t, "high")
	two := newInstance(t, url)
	head := func() (p store.Position, err error) {
		err = two.View(t.Context(), func(r store.Reader) error { p, err = r.Head(); return err })
		return p, err
	}
	for range 3 {
		if p, err := head(); err == nil {
			t.Fatalf("it begins at %v, and would never tell of the lower number", p)
		}
	}
	low.run("COMMIT")
	if p, err := head(); err != nil || p.EventID != "high" {
		t.Errorf("head = %v, %v, want the high one", p, err)
	}
	if two.until(t, 2, 5*time.Second); !slices.Equal(two.seen, []string{"low", "high"}) {
		t.Errorf("a replay tells %v", two.seen)
	}
}

// An instance that hangs between its log row and its commit holds the others up
// until the server ends its transaction.
func TestAHangingInstanceHoldsUpForTwelveSecondsAtMost(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	one := newInstance(t, url)
	hangs := pause(t, one.Store, url)
	hangs.append("never", "a")
	one.write(t, "1")
	one.read(t)
	one.awaitLocks(t)
	if age, pid := one.Held(); age <= 0 || pid != int32(hangs.PgConn().PID()) {
		t.Errorf("held for %s by process %d, want it to be %d", age, pid, hangs.PgConn().PID())
	}
	if took := one.until(t, 1, 12*time.Second); took < 5*time.Second {
		t.Errorf("told after %s: the transaction was not waited for", took)
	}
	if age, pid := one.Held(); age != 0 || pid != 0 {
		t.Errorf("held for %s by process %d, and nobody holds it", age, pid)
	}
}

// Many writers on two instances, some of whom roll back: both tell the same
// events in the same order, every one that was acknowledged, and of each row in
// the order of its commits.
func TestTwoInstancesUnderLoadAgree(t *testing.T) {
	url := pgtest.Database(t)
	instances := []*instance{newInstance(t, url), newInstance(t, url)}
	const writers, each = 8, 60
	for row := range 3 {
		err := instances[0].Write(t.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error {
			return tx.Insert(item, store.Row{value.OfText(fmt.Sprint(row)), value.OfInt(0)})
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	var acknowledged atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		on := instances[w%2]
		wg.Go(func() {
			for n := range each {
				id, row := fmt.Sprintf("%d-%d", w, n), fmt.Sprint(n%3)
				err := on.Write(t.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error { return change(tx, id, row) }})
				if err != nil && n%7 != 0 {
					t.Errorf("%s: %v", id, err)
				}
				if err == nil {
					acknowledged.Add(1)
				}
			}
		})
	}
	wg.Wait()
	total := int(acknowledged.Load())
	for _, i := range instances {
		i.until(t, total, 10*time.Second)
	}
	if !slices.Equal(instances[0].seen, instances[1].seen) {
		t.Error("the instances tell in different orders")
	}
	if got := len(slices.Compact(slices.Sorted(slices.Values(instances[0].seen)))); got != total {
		t.Errorf("told %d different events, want %d", got, total)
	}
}

// change counts a row up and tells of it; each seventh is undone after its
// number was drawn.
func change(tx store.Tx, id, row string) error {
	old, err := tx.Get(item, value.OfText(row))
	if err != nil {
		return err
	}
	old[1] = value.OfInt(old[1].Int() + 1)
	if err := tx.Update(item, old, []int{1}); err != nil {
		return err
	}
	told := event(id, row)
	told.Guard.After = old
	if err := tx.Append(told); err != nil {
		return err
	}
	var n int
	if _, err := fmt.Sscanf(id[2:], "%d", &n); err == nil && n%7 == 0 {
		if _, err := tx.Log(1<<60, 1); err != nil { // draws the number now
			return err
		}
		return fmt.Errorf("undone")
	}
	return nil
}
