package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

const (
	freeOthers = freeSet + `WHERE status = 2 AND owner <> ?2`
	sweepFree  = freeSet + `WHERE seq IN (SELECT seq FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_claimed
		WHERE status = 2 AND owner NOT IN (SELECT owner FROM _rowcast_instances) LIMIT ?2)`
	sweepFail = `UPDATE _rowcast_deliveries SET status = 3, last_error = ?1 WHERE seq IN
		(SELECT seq FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_pending WHERE status = 1 AND target = ?2 ORDER BY turn LIMIT ?3)`
	orphanSelect = `SELECT 1 FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_claimed
		WHERE status = 2 AND owner NOT IN (SELECT owner FROM _rowcast_instances) LIMIT 1`
	// targetAfter finds the next target that has pending deliveries by a seek, not
	// by passing all those of the one before.
	targetAfter = `SELECT target FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_pending
		WHERE status = 1 AND target > ?1 ORDER BY target LIMIT 1`
)

// Enlist implements store.Queue. One process owns the file, so whoever else is
// registered is gone, and what is leased is leased to nobody.
func (q queue) Enlist(ctx context.Context, i store.Instance) error {
	targets, err := json.Marshal(i.Targets)
	if err != nil {
		return fmt.Errorf("enlist %s: %w", i.Owner, err)
	}
	return q.write(ctx, func(t *tx) error {
		owner, now := text(i.Owner), value.OfInt(q.now().UnixMicro())
		if _, err := t.do(`DELETE FROM _rowcast_instances`); err != nil {
			return err
		}
		if _, err := t.do(`DELETE FROM _rowcast_turns WHERE owner <> ?1`, owner); err != nil {
			return err
		}
		if _, err := t.do(`INSERT INTO _rowcast_instances (owner, targets) VALUES (?1, ?2)`, owner, text(string(targets))); err != nil {
			return err
		}
		_, err := t.do(freeOthers, now, owner)
		return err
	})
}

// Renew implements store.Queue. While the process lives its lease cannot run
// out: nobody else could take over.
func (q queue) Renew(ctx context.Context, owner string) (held bool, err error) {
	err = q.view(ctx, func(r *reader) error {
		return r.each(`SELECT 1 FROM _rowcast_instances WHERE owner = ?1`, func(*sqlite3.Stmt) { held = true }, text(owner))
	})
	return held && err == nil, err
}

// Resign implements store.Queue.
func (q queue) Resign(ctx context.Context, owner string) (freed int, err error) {
	err = q.write(ctx, func(t *tx) (err error) {
		if _, err = t.do(`DELETE FROM _rowcast_instances WHERE owner = ?1`, text(owner)); err != nil {
			return err
		}
		if _, err = t.do(`DELETE FROM _rowcast_turns WHERE owner = ?1`, text(owner)); err != nil {
			return err
		}
		freed, err = t.do(freeOwner, value.OfInt(q.now().UnixMicro()), text(owner))
		return err
	})
	if err != nil {
		return 0, err
	}
	return freed, nil
}

// Sweep implements store.Queue. Where no instance is registered, nobody can say
// which targets there are, and none is failed for it.
func (q queue) Sweep(ctx context.Context, limit int) (s store.Swept, err error) {
	err = q.write(ctx, func(t *tx) (err error) {
		s, err = t.sweep(limit, q.now().UnixMicro())
		return err
	})
	if err != nil {
		return store.Swept{}, err
	}
	return s, nil
}

func (t *tx) sweep(limit int, now int64) (s store.Swept, err error) {
	if s.Freed, err = t.do(sweepFree, value.OfInt(now), number(limit)); err != nil {
		return s, err
	}
	undeclared, err := t.undeclared()
	if err != nil {
		return s, err
	}
	for _, target := range undeclared {
		n, err := t.do(sweepFail, text(store.TargetNotDeclared), text(target), number(limit-s.Freed-s.Failed))
		if err != nil {
			return s, err
		}
		s.Failed += n
	}
	if s.Freed+s.Failed < limit {
		return s, nil
	}
	if undeclared, err = t.undeclared(); err != nil || len(undeclared) > 0 {
		s.More = true
		return s, err
	}
	return s, t.each(orphanSelect, func(*sqlite3.Stmt) { s.More = true })
}

// undeclared returns the targets that have pending deliveries and that no
// registered instance declares.
func (t *tx) undeclared() (targets []string, err error) {
	var bad error
	declared, registered := map[string]bool{}, false
	err = t.each(`SELECT targets FROM _rowcast_instances`, func(st *sqlite3.Stmt) {
		var names []string
		if err := json.Unmarshal(st.ColumnRawText(0), &names); err != nil {
			bad = fmt.Errorf("targets of an instance: %w", err)
		}
		for registered = true; len(names) > 0; names = names[1:] {
			declared[names[0]] = true
		}
	})
	if err == nil {
		err = bad
	}
	if err != nil || !registered {
		return nil, err
	}
	for last, found := "", true; found; {
		found = false
		if err := t.each(targetAfter, func(st *sqlite3.Stmt) { last, found = st.ColumnText(0), true }, text(last)); err != nil {
			return nil, err
		}
		if found && !declared[last] {
			targets = append(targets, last)
		}
	}
	return targets, nil
}

// Turn implements store.Queue.
func (q queue) Turn(ctx context.Context, name, owner string, d time.Duration) (mine bool, err error) {
	err = q.write(ctx, func(t *tx) error {
		now := q.now()
		n, err := t.do(`INSERT INTO _rowcast_turns (name, owner, until) VALUES (?1, ?2, ?3)
			ON CONFLICT DO UPDATE SET owner = ?2, until = ?3 WHERE until <= ?4`,
			text(name), text(owner), value.OfTime(now.Add(d)), value.OfTime(now))
		mine = n > 0
		return err
	})
	return mine && err == nil, err
}
