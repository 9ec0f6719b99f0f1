package outbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

// TestTheTwelveAttemptsAndTheirWaits shows the whole life of a delivery that
// nobody takes: twelve attempts, waits that double up to ten minutes, and then it
// waits for an operator.
func TestTheTwelveAttemptsAndTheirWaits(t *testing.T) {
	const slack = 250 * time.Millisecond
	for name, slow := range map[string]struct{ claim, settle time.Duration }{
		"a store that answers at once":        {},
		"claims take their time":              {claim: slack / 2},
		"settlements take theirs":             {settle: slack / 2},
		"a settlement overtakes a late claim": {claim: slack / 2, settle: slack / 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dead := answers(broken)
				w := newWorld(t, map[string]*receiver{"a": dead})
				w.fake.fault = func(ctx context.Context, call string, done bool) error {
					if call == "Claim" && !done {
						wait(ctx, slow.claim)
					} else if call == "Settle" && !done {
						wait(ctx, slow.settle)
					}
					return nil
				}
				p := w.start(nil, "a")
				time.Sleep(time.Second)
				d := w.write(p, "a", 1)[0]
				time.Sleep(3 * time.Hour)
				synctest.Wait()
				checkWaits(t, dead.seen(), slack)
				failed := w.fake.left(store.Failed)
				if len(failed) != 1 || failed[0].ID != d.ID || failed[0].Attempts != 12 || failed[0].LastStatus != 500 {
					t.Errorf("failed: %+v, want the delivery with 12 attempts and the last answer", failed)
				}
				log, err := p.Attempts(t.Context(), d.ID)
				if err != nil || len(log) != 12 || log[11].Outcome != store.GivenUp || log[10].Outcome != store.Retried || log[11].Number != 12 {
					t.Errorf("the attempt log: %+v, %v", log, err)
				}
			})
		})
	}
}

// checkWaits holds twelve attempts against the waits between them; slack is what
// the store may add.
func checkWaits(t *testing.T, seen []sent, slack time.Duration) {
	t.Helper()
	if len(seen) != 12 {
		t.Fatalf("%d attempts, want 12", len(seen))
	}
	const s = time.Second
	waits := []time.Duration{2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 128 * s, 256 * s, 512 * s, 600 * s, 600 * s}
	for i, want := range waits {
		got := seen[i+1].at.Sub(seen[i].at)
		least, most := want, want+want/10
		if want == 600*s {
			least, most = want-want/10, want
		}
		if got < least || got > most+slack {
			t.Errorf("attempt %d came %v after the one before, want %v to %v", i+2, got, least, most)
		}
	}
}

func TestARefusalIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(refused)
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 1)
		time.Sleep(time.Hour)
		if len(r.seen()) != 1 || len(w.fake.left(store.Failed)) != 1 {
			t.Errorf("%d attempts and %d failed, want 1 and 1", len(r.seen()), len(w.fake.left(store.Failed)))
		}
		if c := p.Counters(); c.Attempted != 1 || c.Failed != 1 || c.Targets["a"].Failed != 1 {
			t.Errorf("counters %+v", c)
		}
	})
}

func TestRetryAfterLengthensAWaitToTenMinutesAtMost(t *testing.T) {
	for name, test := range map[string]struct {
		asked, least, most time.Duration
	}{
		"shorter than the wait": {time.Second, 2 * time.Second, 2200 * time.Millisecond},
		"longer":                {30 * time.Second, 30 * time.Second, 30 * time.Second},
		"a day":                 {24 * time.Hour, 10 * time.Minute, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := answers(post.Result{Class: post.Retry, Status: 429, RetryAfter: test.asked})
				w := newWorld(t, map[string]*receiver{"a": r})
				p := w.start(nil, "a")
				synctest.Wait()
				w.write(p, "a", 1)
				time.Sleep(15 * time.Minute)
				seen := r.seen()
				if got := seen[1].at.Sub(seen[0].at); got < test.least || got > test.most {
					t.Errorf("waited %v, want %v to %v", got, test.least, test.most)
				}
			})
		})
	}
}

// TestAnAttemptThatIsWrittenLateWaitsFromThen: the wait begins when the outcome
// is in the queue, by whose clock it is due.
func TestAnAttemptThatIsWrittenLateWaitsFromThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(broken)
		w := newWorld(t, map[string]*receiver{"a": r})
		w.fake.fault = func(ctx context.Context, call string, done bool) error {
			if call == "Settle" && !done {
				wait(ctx, 3*time.Second)
			}
			return nil
		}
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 1)
		time.Sleep(6 * time.Second)
		seen := r.seen()
		if len(seen) != 2 {
			t.Fatalf("%d attempts, want 2", len(seen))
		}
		if got := seen[1].at.Sub(seen[0].at); got < 5*time.Second || got > 5200*time.Millisecond {
			t.Errorf("the second attempt came after %v, want 5 s to 5.2 s", got)
		}
	})
}
