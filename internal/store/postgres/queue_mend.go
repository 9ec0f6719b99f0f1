package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// mendStep is how many deliveries one sweep looks at: some ten milliseconds' work.
const mendStep = 2000

// mending is how far the look has come for deliveries of ordered targets that are
// marked as behind another which is gone. Settle and Skip leave none; a process
// that died within a release that did would have kept a row waiting for ever.
// Safe for concurrent use.
type mending struct {
	mu      sync.Mutex
	targets []string // still to be looked through
	after   int64    // of the first of them: the last number looked at
}

// begin has everything of the targets looked through once.
func (m *mending) begin(targets []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.targets, m.after = targets, 0
}

// at returns where the next step begins; "": there is none.
func (m *mending) at() (target string, after int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.targets) == 0 {
		return "", 0
	}
	return m.targets[0], m.after
}

// done takes in that a step has looked at n deliveries, up to the number last.
func (m *mending) done(target string, n int, last int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case len(m.targets) == 0 || m.targets[0] != target: // begun anew meanwhile
	case n < mendStep:
		m.targets, m.after = m.targets[1:], 0
	default:
		m.after = last
	}
}

// mend makes one step.
func (q queue) mend(ctx context.Context) error {
	m := &q.store.mending
	target, after := m.at()
	if target == "" {
		return nil
	}
	var n int
	var last int64
	err := q.run(ctx, errand{name: "mend the queue", first: func() []ask {
		return []ask{{sql: q.store.sql.queue.mend, args: []any{target, after, mendStep}, each: func(rows pgx.Rows) error { return rows.Scan(&n, &last) }}}
	}})
	if err == nil {
		m.done(target, n, last)
	}
	return err
}
