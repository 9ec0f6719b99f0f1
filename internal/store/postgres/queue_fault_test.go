package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Where the queue cannot be written the write fails, and nothing of it remains.
func TestAFullDiskUnderTheQueueFailsTheWrite(t *testing.T) {
	url := pgtest.Database(t)
	q := newQueueing(t, url)
	if _, err := q.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{item}}); err != nil {
		t.Fatal(err)
	}
	db := connect(t, url)
	exec(t, db, `CREATE FUNCTION shop.full() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END $$`)
	exec(t, db, `CREATE TRIGGER full_disk BEFORE INSERT ON shop._rowcast_deliveries FOR EACH ROW EXECUTE FUNCTION shop.full()`)
	write := func() error {
		return q.Write(t.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error {
			return errors.Join(tx.Insert(item, store.Row{value.OfText("a"), value.OfInt(1)}), tx.Append(event("1", "a")), tx.Enqueue(q.deliveries(1, "billing", "", 0)...))
		}})
	}
	if err := write(); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("error %v, want that the datastore is unavailable", err)
	}
	var rows, logged, queued int
	err := db.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM shop.items), (SELECT count(*) FROM shop._rowcast_log), (SELECT count(*) FROM shop._rowcast_deliveries)`).
		Scan(&rows, &logged, &queued)
	if err != nil || rows+logged+queued != 0 {
		t.Errorf("%d rows, %d events and %d deliveries remain, %v; want none", rows, logged, queued, err)
	}
	exec(t, db, `DROP TRIGGER full_disk ON shop._rowcast_deliveries`)
	if err := write(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// Wherever the connection breaks, what was settled is not taken for lost, nor
// settled twice.
func TestABrokenConnectionLosesNoLease(t *testing.T) {
	settling, committed := saying(`.took`), saying("COMMIT\x00")
	for name, c := range map[string]struct {
		fail func(p *proxy)
		want error
		log  int // attempts in the end
	}{
		"before the commit":      {fail: func(p *proxy) { p.before.Store(once(settling)) }, log: 1},
		"after the commit":       {fail: func(p *proxy) { p.after.Store(once(committed)) }, log: 1},
		"a network that is gone": {fail: func(p *proxy) { p.deaf.Store(true) }, want: store.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.Database(t)
			p, through := newProxy(t, url)
			direct := newQueueing(t, url)
			s := open(t, Config{URL: through, Namespace: "shop", budget: 200 * time.Millisecond, QueryTimeout: time.Second})
			direct.put(direct.deliveries(1, "billing", "", 0)...)
			held, err := s.Queue().Claim(t.Context(), store.Claim{Owner: "me", Target: "billing", Limit: 10})
			if err != nil || len(held) != 1 {
				t.Fatalf("claimed %v, %v", held, err)
			}
			c.fail(p)
			lost, err := s.Queue().Settle(t.Context(), "me", settlements(store.Delivered, held...))
			if !errors.Is(err, c.want) || len(lost) != 0 {
				t.Errorf("lost %v, %v, want none and %v", lost, err, c.want)
			}
			p.deaf.Store(false)
			if log, err := direct.Queue().Attempts(t.Context(), held[0].ID); err != nil || len(log) != c.log {
				t.Errorf("attempts %v, %v, want %d", log, err, c.log)
			}
		})
	}
}

// A lease that has run out is not renewed, swept or not.
func TestALeaseThatRanOutIsNotRenewed(t *testing.T) {
	url := pgtest.Database(t)
	q := newQueueing(t, url)
	if err := q.Queue().Enlist(t.Context(), store.Instance{Owner: "me", Targets: []string{"billing"}, Lease: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if held, err := q.Queue().Renew(t.Context(), "me"); !held || err != nil {
		t.Errorf("renewed %v, %v, want it held", held, err)
	}
	db := connect(t, url)
	exec(t, db, `UPDATE shop._rowcast_instances SET expires = clock_timestamp()`)
	if held, err := q.Queue().Renew(t.Context(), "me"); held || err != nil {
		t.Errorf("renewed %v, %v, want it run out", held, err)
	}

	// Nobody lives, so nobody says which targets are declared.
	q.put(q.deliveries(1, "billing", "", 0)...)
	if s, err := q.Queue().Sweep(t.Context(), 10); err != nil || s != (store.Swept{Dead: 1}) {
		t.Errorf("swept %+v, %v, want the dead instance alone", s, err)
	}
}
