// Package tail reads the change log in order, reads each changed row once, and
// hands both on: live to one sink, and page by page to whoever catches up.
//
// Guarantees. The sink sees every log row above the start exactly once, in log
// order, with the row as of its own commit or later. A page never reaches past
// what the sink was given, so a replay and the live stream meet without a seam.
// A hand-over that is lost or doubled is harmless: the log is read instead. A
// store that others write to as well hands nothing over: it has the tail look.
//
// Run is the one long-lived goroutine; all methods are safe for concurrent use.
// It may import schema, internal/value, internal/store and internal/pace.
package tail

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowcast/rowcast/internal/pace"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Bounds of the hand-over, and the waits after a failed read.
const (
	handoverRows  = 8192
	handoverBytes = 32 << 20
	minRetry      = 50 * time.Millisecond
	maxRetry      = time.Second
	maxAwait      = pace.Most * 5 / 2
	maxLast       = time.Second
	// unasked is a pace from which on the next look is not waited to be asked for:
	// it finds something as a rule, and who wakes an instance costs the database
	// half as much as its look. Drivers count on it, see postgres/tell.go.
	unasked = pace.Most / 20
)

// ErrExpired is returned for a position that retention has overtaken.
var ErrExpired = errors.New("position is older than the log")

// errReplaced is found where the row at the tail's position is not the one it
// has read: a backup was restored, or a standby took over that lacked it.
var errReplaced = errors.New("the change log is another one")

// Config is what a Tail stands on.
type Config struct {
	Entities map[string]*schema.Entity // by name
	Sink     func(batch []*Entry)      // called by Run alone; must not wait on a client
	Reset    func(from store.Position) // called by Run alone where the log was replaced: it goes on from there; defaults to nothing
	Logger   *slog.Logger              // defaults to slog.Default()
	Now      func() time.Time          // defaults to time.Now
}

// Tail follows one datastore's log.
type Tail struct {
	config Config
	store  store.Store
	window window
	share  share
	wake   chan struct{}
	ready  chan struct{}

	mu      sync.Mutex
	pending []*store.LogRow // handed over, not yet delivered
	bytes   int             // that pending holds
	reread  bool            // the log must be read: a hand-over was lost, or somebody says that it has grown
	urgent  bool            // at once: a hand-over was lost
	behind  time.Time       // when the oldest undelivered row was written; zero: none

	pace pace.Pace // of the log, for Run alone
	next time.Time // not to look before, unless it is urgent; likewise
	soon bool      // to look then, whether somebody asks or not; likewise
	step step      // likewise

	own       written
	expected  atomic.Int64                   // the highest number acknowledged here and not handed over
	moved     broadcast                      // of delivered
	offered   atomic.Pointer[store.Position] // the last row handed over
	delivered atomic.Pointer[store.Position] // the last row read
}

// New returns a Tail that has not started.
func New(c Config) *Tail {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Reset == nil {
		c.Reset = func(store.Position) {}
	}
	t := &Tail{config: c, wake: make(chan struct{}, 1), ready: make(chan struct{})}
	t.offered.Store(&store.Position{})
	t.delivered.Store(&store.Position{})
	return t
}

// Follow sets the store to read from; call it before Run. A driver that hands
// over in memory needs Offer before it opens, so the tail is made first.
func (t *Tail) Follow(s store.Store) { t.store = s }

// Offer hands over rows that have just been committed, in log order. It never
// blocks: what does not fit is read from the log later.
func (t *Tail) Offer(rows []*store.LogRow) {
	if len(rows) == 0 {
		return
	}
	last := rows[len(rows)-1]
	t.mu.Lock()
	for _, row := range rows {
		t.bytes += weight(row.Row)
	}
	if len(t.pending)+len(rows) > handoverRows || t.bytes > handoverBytes {
		t.pending, t.bytes, t.reread, t.urgent = nil, 0, true, true
	}
	if t.behind.IsZero() {
		t.behind = rows[0].Time
	}
	if !t.reread {
		t.pending = append(t.pending, rows...)
	}
	t.offered.Store(&store.Position{Seq: last.Seq, EventID: last.EventID})
	t.mu.Unlock()
	t.rouse()
}

// Expect is Offer for a store that others write to as well: rows that have just
// been acknowledged are to be read from the log, in its order. What they leave
// behind need not be read again.
func (t *Tail) Expect(rows []*store.LogRow) {
	if len(rows) == 0 {
		return
	}
	last := rows[len(rows)-1].Seq
	for known := t.expected.Load(); known < last && !t.expected.CompareAndSwap(known, last); {
		known = t.expected.Load()
	}
	t.mu.Lock()
	if t.behind.IsZero() {
		t.behind = rows[0].Time
	}
	t.mu.Unlock()
	t.own.keep(rows)
	t.Look()
}

// Look makes the tail read the log again: at once after a quiet time, and under
// load when enough may have gathered. Calls that come together count as one.
func (t *Tail) Look() {
	t.mu.Lock()
	t.reread = true
	t.mu.Unlock()
	t.rouse()
}

func (t *Tail) rouse() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Ready is closed once the tail knows where it starts.
func (t *Tail) Ready() <-chan struct{} { return t.ready }

// Delivered returns the position up to which the log has been read: the sink
// has been given, or is being given, everything up to there.
func (t *Tail) Delivered() store.Position { return *t.delivered.Load() }

// Await waits until the writes that this process acknowledged before the call
// are delivered, but not for long: a number before theirs may still be open.
func (t *Tail) Await(ctx context.Context) {
	want := t.expected.Load()
	timer := time.NewTimer(maxAwait)
	defer timer.Stop()
	for {
		moved := t.moved.next()
		if t.Delivered().Seq >= want {
			return
		}
		select {
		case <-moved:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Horizon returns a position that covers every write acknowledged before the
// call, as far as the log is settled: what a new subscriber starts after.
func (t *Tail) Horizon() store.Position {
	offered, delivered := *t.offered.Load(), *t.delivered.Load()
	if offered.Seq > delivered.Seq {
		return offered
	}
	return delivered
}

// Lag returns for how long the oldest committed and undelivered row has waited; 0 when there is none.
func (t *Tail) Lag() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.behind.IsZero() {
		return 0
	}
	return max(0, t.config.Now().Sub(t.behind))
}

// Run follows the log until ctx is done, and delivers what was committed here by
// then. A store that cannot be reached is
// retried; it never ends the tail.
func (t *Tail) Run(ctx context.Context) error {
	if !t.retry(ctx, t.start) {
		return nil
	}
	close(t.ready)
	for {
		if !t.retry(ctx, t.advance) {
			return t.last(ctx)
		}
		if !t.idle(ctx) {
			return t.last(ctx)
		}
	}
}

// idle waits until there is something to do; false when ctx is done.
func (t *Tail) idle(ctx context.Context) bool {
	var due <-chan time.Time
	if t.soon {
		timer := time.NewTimer(time.Until(t.next))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-t.wake:
		return true
	case <-due:
		t.mu.Lock()
		t.reread = true
		t.mu.Unlock()
		return true
	}
}

// last delivers what was handed over by the end: nobody else hands it on.
func (t *Tail) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxLast)
	defer cancel()
	if err := t.advance(ctx); err != nil {
		t.config.Logger.Warn("the last of the change log was not handed on", "err", err)
	}
	return nil
}

// retry runs step until it succeeds, waiting between attempts; false when ctx is done.
func (t *Tail) retry(ctx context.Context, step func(context.Context) error) bool {
	wait := minRetry
	for {
		err := step(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if errors.Is(err, store.ErrUnsettled) {
			wait = minRetry // nothing is wrong: transactions are on their way
		} else {
			t.config.Logger.Warn("change log cannot be read, trying again", "err", err, "wait", wait)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
		wait = min(2*wait, maxRetry)
	}
}

func (t *Tail) start(ctx context.Context) error {
	return t.store.View(ctx, func(r store.Reader) error {
		head, err := r.Head()
		if err != nil {
			return err
		}
		t.window.start(head.Seq)
		t.delivered.Store(&head)
		return nil
	})
}

// advance delivers what was handed over, or reads the log where a hand-over was lost.
func (t *Tail) advance(ctx context.Context) error {
	for {
		if !t.rest(ctx) {
			return nil
		}
		rows, reread := t.take()
		if reread {
			if err := t.read(ctx); err != nil {
				t.lost()
				return err
			}
			continue
		}
		if len(rows) == 0 {
			return nil
		}
		t.deliver(t.handedOver(rows))
	}
}

// rest waits until it is time to look at a log that is said to have grown;
// false when ctx is done. What is said meanwhile needs no look of its own.
func (t *Tail) rest(ctx context.Context) bool {
	t.mu.Lock()
	wait := time.Until(t.next)
	if !t.reread || t.urgent {
		wait = 0
	}
	t.mu.Unlock()
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (t *Tail) take() (rows []*store.LogRow, reread bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows, reread = t.pending, t.reread
	t.pending, t.bytes, t.reread, t.urgent = nil, 0, false, false
	switch {
	case reread: // behind as before
	case len(rows) == 0:
		t.behind = time.Time{}
	default:
		t.behind = rows[0].Time
	}
	return rows, reread
}

func (t *Tail) lost() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending, t.bytes, t.reread = nil, 0, true
}

// read delivers from the log until a page comes back short. What commits after
// that page's snapshot is handed over after it, so nothing falls between.
func (t *Tail) read(ctx context.Context) error {
	found := 0
	for {
		var page stretch
		// Without a snapshot: a row may be younger than the change it is read for.
		err := store.Glance(ctx, t.store, func(r store.Reader) (err error) {
			page, err = t.loadOn(r)
			return err
		})
		switch {
		case errors.Is(err, errReplaced):
			return t.restart(ctx)
		case err != nil:
			return err
		}
		t.deliver(page.entries)
		t.own.forget(t.Delivered().Seq)
		if found += len(page.entries); !page.more {
			now := time.Now()
			wait := t.pace.Found(now, found)
			t.next, t.soon = now.Add(wait), wait >= unasked
			return nil
		}
		t.caughtUp(page.entries[len(page.entries)-1].Log.Time)
	}
}

// restart begins again at the end of a log that has been replaced.
func (t *Tail) restart(ctx context.Context) error {
	was := t.Delivered()
	t.expected.Store(0)
	t.offered.Store(&store.Position{})
	if err := t.start(ctx); err != nil {
		return err
	}
	t.config.Logger.Warn("the change log is another one, a backup or a standby's: the tail begins at its end, and open streams are told of a gap", "was", was.Seq, "is", t.Delivered().Seq)
	t.config.Reset(t.Delivered())
	return nil
}

// caughtUp notes that nothing older than a time is undelivered.
func (t *Tail) caughtUp(to time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.behind = to
}

func (t *Tail) handedOver(rows []*store.LogRow) []*Entry {
	from := t.Delivered().Seq
	batch := make([]*Entry, 0, len(rows))
	for _, row := range rows {
		if row.Seq > from { // else it came twice, or a page of the log had it already
			from = row.Seq
			batch = append(batch, &Entry{Log: row, Entity: t.config.Entities[row.Entity], Row: row.Row, Own: own(row)})
		}
	}
	return batch
}

// own reports whether the row handed over is, as far as anybody is judged by
// it, the one that this very change left. It is not where a later step of the
// same transaction changed it again.
func own(row *store.LogRow) bool {
	for i, cell := range row.Guard.After {
		if cell.Class() != value.Unknown && (row.Row == nil || cell != row.Row[i]) {
			return false
		}
	}
	return true
}

func (t *Tail) deliver(batch []*Entry) {
	if len(batch) == 0 {
		return
	}
	last := batch[len(batch)-1].Log
	t.window.add(batch)
	// Before the sink: whoever catches up while the sink is at work finds the
	// batch in the window, and never waits for the slowest of the others.
	t.delivered.Store(&store.Position{Seq: last.Seq, EventID: last.EventID})
	t.moved.tell()
	t.config.Sink(batch)
}
