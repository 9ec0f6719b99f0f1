package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
)

// halfSent sends a transaction's log row and not the rest of the round trip: the
// server has run it, and waits in the middle.
func halfSent(t *testing.T, s *Store, url string) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	p := conn.StartPipeline(t.Context())
	p.SendQueryParams("BEGIN", nil, nil, nil, nil)
	p.SendQueryParams("SET LOCAL idle_in_transaction_session_timeout = '"+idleLimit+"'", nil, nil, nil, nil)
	p.SendQueryParams("INSERT INTO "+s.sql.log+` (event_id, entity, operation, fine, topic, subject, actor, time, sent, differs, origin, guard)
		SELECT 'never', 'item', 1, 'patched', '', 'a', '', now(), '', '', '', ''`, nil, nil, nil, nil)
	p.SendFlushRequest()
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := p.GetResults(); err != nil {
			t.Fatal(err)
		}
	}
}

// A commit that arrives in part never idles for the server; the others wait for
// it no longer than for one that does.
func TestAHalfSentCommitHoldsUpForTwelveSecondsAtMost(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	one := newInstance(t, url)
	halfSent(t, one.Store, url)
	one.write(t, "1")
	if took := one.until(t, 1, 12*time.Second); took < 5*time.Second {
		t.Errorf("told after %s: the transaction was not waited for", took)
	}
}

// Nor does an instance that starts, be it the only one.
func TestAnInstanceStartsBesideAHalfSentCommit(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	one := newInstance(t, url)
	one.write(t, "1")
	halfSent(t, one.Store, url)
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	two := newInstance(t, url)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		var at store.Position
		err := two.View(t.Context(), func(r store.Reader) (err error) { at, err = r.Head(); return err })
		if err == nil {
			if at.EventID != "1" {
				t.Errorf("it begins at %v", at)
			}
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("it never begins: %v", err)
		}
	}
}
