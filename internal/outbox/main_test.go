package outbox_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What a receiver answers.
var (
	accepted = post.Result{Class: post.Accepted, Status: 204, Alive: true}
	refused  = post.Result{Class: post.Refuse, Status: 422, Error: "422", Alive: true}
	broken   = post.Result{Class: post.Retry, Status: 500, Error: "500"}
	silent   = post.Result{Class: post.Retry, Error: "timeout"}
)

// sent is one attempt, as a receiver saw it.
type sent struct {
	id     string
	number int // of the attempt, as the delivery says
	at     time.Time
}

// receiver is one target.
type receiver struct {
	mu     sync.Mutex
	answer func(ctx context.Context, d *store.Delivery) post.Result
	sent   []sent
	now    int // attempts in flight
	most   int // of now
	closed int
}

// answers returns a receiver that always answers the same, at once.
func answers(result post.Result) *receiver {
	return &receiver{answer: func(context.Context, *store.Delivery) post.Result { return result }}
}

// blackHole returns a receiver that says nothing until the timeout of 10 s.
func blackHole() *receiver {
	return &receiver{answer: func(ctx context.Context, _ *store.Delivery) post.Result {
		wait(ctx, 10*time.Second)
		return silent
	}}
}

// become changes what it answers.
func (r *receiver) become(result post.Result) {
	r.answerBy(func(context.Context, *store.Delivery) post.Result { return result })
}

// answerBy changes how it answers.
func (r *receiver) answerBy(answer func(context.Context, *store.Delivery) post.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// atOnce returns how many attempts it saw at a time, at most, since the last call.
func (r *receiver) atOnce() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := r.most
	r.most = r.now
	return most
}

// Post implements outbox.Poster.
func (r *receiver) Post(ctx context.Context, d *store.Delivery) post.Result {
	r.mu.Lock()
	r.sent = append(r.sent, sent{d.ID, d.Attempts + 1, time.Now()})
	r.now++
	r.most = max(r.most, r.now)
	answer := r.answer
	r.mu.Unlock()
	began := time.Now()
	result := answer(ctx, d)
	result.At, result.Took = began, time.Since(began)
	r.mu.Lock()
	r.now--
	r.mu.Unlock()
	return result
}

// Close implements outbox.Poster.
func (r *receiver) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed++
}

// seen returns the attempts so far.
func (r *receiver) seen() []sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sent(nil), r.sent...)
}

// wait waits for d, or until ctx is done.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// world is a queue, receivers, and relays between them.
type world struct {
	t         *testing.T
	queue     store.Queue
	fake      *queue
	receivers map[string]*receiver
	ids       atomic.Int64
}

func newWorld(t *testing.T, receivers map[string]*receiver) *world {
	fake := newQueue()
	return &world{t: t, queue: fake, fake: fake, receivers: receivers}
}

func (w *world) newID() string { return fmt.Sprintf("%06d", w.ids.Add(1)) }

// process is one relay that runs.
type process struct {
	*outbox.Relay
	cancel context.CancelFunc
	done   chan error
}

// start runs a relay for the named targets until the test ends. A target whose
// name ends in "+" is ordered.
func (w *world) start(change func(*outbox.Config), targets ...string) *process {
	w.t.Helper()
	c := outbox.Config{
		Queue:  w.queue,
		Poster: func(target string) outbox.Poster { return w.receivers[target] },
		NewID:  w.newID,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	for _, name := range targets {
		c.Targets = append(c.Targets, outbox.Target{Name: name, Ordered: name[len(name)-1] == '+'})
	}
	if change != nil {
		change(&c)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	p := &process{Relay: outbox.New(c), cancel: cancel, done: make(chan error, 1)}
	go func() { p.done <- p.Run(ctx) }()
	w.t.Cleanup(p.stop)
	return p
}

// stop ends the relay, and waits for it.
func (p *process) stop() {
	p.cancel()
	err := <-p.done
	p.done <- err
}

// write queues n deliveries as the engine does: leased where there is a place.
func (w *world) write(p *process, target string, n int) []*store.Delivery {
	ds := make([]*store.Delivery, n)
	for i := range ds {
		ds[i] = w.delivery(target, "row")
		ds[i].Owner, _ = p.Reserve(target)
	}
	w.fake.enqueue(ds...)
	for _, d := range ds {
		if d.Owner != "" {
			d.Epoch, d.Status = 1, store.Claimed
		}
	}
	p.Committed(ds)
	return ds
}

// delivery makes one that is not queued.
func (w *world) delivery(target, subject string) *store.Delivery {
	return &store.Delivery{ID: "U" + w.newID(), Target: target, Topic: "t", Event: "entity.create", Subject: subject, Body: []byte("{}")}
}

// leased counts deliveries that were written leased.
func leased(ds []*store.Delivery) (n int) {
	for _, d := range ds {
		if d.Owner != "" {
			n++
		}
	}
	return n
}

// times counts the attempts at each delivery.
func times(all []sent) map[string]int {
	n := map[string]int{}
	for _, s := range all {
		n[s.id]++
	}
	return n
}
