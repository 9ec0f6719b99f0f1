package outbox

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// A target that answers nothing: however much waits for it, an instance claims
// what it has hands for and twice as much to follow, and leaves the rest to others.
func TestALaneClaimsNoMoreWhileNothingIsAnswered(t *testing.T) {
	now, held, asks := time.Now(), &lease{}, make(chan *lane, 1)
	reg := &registration{owner: "one"}
	reg.good.Store(&now)
	held.current.Store(reg)
	l := newLane(Target{Name: "billing", MaxInFlight: 2}, nil, asks, held)
	claimed := 0
	for range 20 {
		l.rouse() // another was written
		<-asks
		p := l.plan(now, true)
		for range p.workers {
			l.take()
		}
		if p.errand.empty() {
			continue
		}
		ds := make([]*store.Delivery, p.errand.claim.Limit)
		for i := range ds {
			claimed++
			ds[i] = &store.Delivery{ID: fmt.Sprint("U", claimed), Target: "billing", Owner: "one", Epoch: 1}
		}
		l.claimed(&p.errand, ds, now)
	}
	if want := 3 * l.target.MaxInFlight; claimed != want {
		t.Errorf("the lane claimed %d, want %d", claimed, want)
	}
}
