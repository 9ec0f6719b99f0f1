package rowcast_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rowcast/rowcast"
)

// What is written is posted to the declared targets, and counted for whoever
// embeds the server; when it has ended no delivery is under way.
func TestDeliveriesAreMadeAndCounted(t *testing.T) {
	hooks := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hooks <- r.Header.Get("X-Kisai-Event")
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusGone)
		}
	}))
	defer receiver.Close()
	boot := bellBoot + `
events:
  targets:
    yes: {url: "` + receiver.URL + `", secret: a-secret-for-tests, topics: [entity.bell]}
    no: {url: "` + receiver.URL + `/no", secret: a-secret-for-tests, topics: [entity.bell]}
`
	s := opened(t, site(t, boot, bellSchema))
	l := listen(t)
	stop, done := background(t, func(ctx context.Context) error { return s.Serve(ctx, l) })
	<-s.Ready()
	if status, body := send(t, request(t, http.MethodPost, "http://"+l.Addr().String()+"/data/bell", strings.NewReader(`{"id":"a"}`))); status != http.StatusCreated {
		t.Fatalf("%d: %s", status, body)
	}
	for range 2 {
		if got := <-hooks; got != "entity.create" {
			t.Errorf("event %q", got)
		}
	}
	want := []rowcast.DeliveryCounters{{Target: "yes", Attempted: 1, Delivered: 1}, {Target: "no", Attempted: 1, Failed: 1}}
	eventually(t, func() bool { return slices.Equal(s.Counters()[0].Deliveries, want) })
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
