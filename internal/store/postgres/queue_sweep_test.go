package postgres

import (
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
)

// A process that was stopped in the middle of a statement keeps its locks for as
// long as its connection seems to stand. What else it held is taken over all the
// same, and is not waited for.
func TestASweepWaitsForNobodysLocks(t *testing.T) {
	url := pgtest.Database(t)
	q := newQueueing(t, url)
	held := q.deliveries(3, "billing", "stopped", 0)
	q.put(held...)
	db := connect(t, url)
	if err := q.Queue().Enlist(t.Context(), store.Instance{Owner: "stopped", Targets: []string{"billing"}, Lease: time.Hour}); err != nil {
		t.Fatal(err)
	}
	sweep := func(now string, want store.Swept) {
		t.Helper()
		if s, err := q.Queue().Sweep(t.Context(), 100); err != nil || s != want {
			t.Errorf("%s: swept %+v, %v, want %+v", now, s, err, want)
		}
	}
	for _, c := range []struct {
		now, ago string
		want     store.Swept
	}{
		{"out for a moment, and perhaps being renewed", "0", store.Swept{}},
		{"out for longer than a renewal can take", "16 s", store.Swept{Freed: 2}},
	} {
		exec(t, db, "UPDATE shop._rowcast_instances SET expires = clock_timestamp() - interval '"+c.ago+"'")
		stopped, err := connect(t, url).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{
			"SELECT FROM shop._rowcast_instances WHERE owner = 'stopped' FOR UPDATE",
			"SELECT FROM shop._rowcast_deliveries WHERE id = '" + held[1].ID + "' FOR UPDATE",
		} {
			if _, err := stopped.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		sweep(c.now, c.want)
		if err := stopped.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	sweep("its locks are gone", store.Swept{Freed: 1, Dead: 1})
}
