package delivery

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/servertest"
)

// Beyond the contract: a target that is dead, slow or broken holds up no other.
// Of twenty, one never answers, one answers after ten seconds and one says 500;
// the other seventeen get everything while these stand still.
func TestTargetsThatStandStillHoldUpNoOther(t *testing.T) {
	const well, rows = 17, 60
	released := make(chan struct{})
	hole := servertest.Receive(t, servertest.Reply{Until: released})
	late := servertest.Receive(t, servertest.Reply{Delay: 10 * time.Second})
	broken := servertest.Receive(t, servertest.Reply{Status: http.StatusInternalServerError})
	// They come first: what is done for targets in turn comes to the others after them.
	const patient = orders + ", timeout: 60s"
	targets := []string{hole.Target("a-hole", patient), late.Target("b-late", patient), broken.Target("c-broken", patient)}
	receivers := make([]*servertest.Receiver, well)
	for i := range receivers {
		receivers[i] = servertest.Receive(t)
		targets = append(targets, receivers[i].Target(fmt.Sprintf("well-%02d", i), orders))
	}
	s := serve(t, targets...)
	ann := s.User("ann")
	for range rows / 20 {
		ann.Post("/data/order/bulk", "["+strings.Repeat(`{"title":"lamp"},`, 19)+`{"title":"lamp"}]`).Is(201)
	}
	for i, r := range receivers {
		all := r.Until("everything", func(all []servertest.Received) bool { return len(servertest.IDs(all)) == rows })
		if len(all) != rows {
			t.Errorf("target %d got %d requests of %d deliveries", i, len(all), rows)
		}
	}
	// What one got that never answers is in flight; who says 500 is spared the rest.
	for name, r := range map[string]*servertest.Receiver{"who never answers": hole, "who says 500": broken} {
		if n := len(servertest.IDs(r.All())); n == 0 || n == rows {
			t.Errorf("%s was sent %d of %d deliveries, want some and not all", name, n, rows)
		}
	}
	close(released)
	late.Down() // whose answers the server would wait for
}
