package cluster

import (
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/pgtest"
)

// An instance is stopped between its log row and its commit, with all that the
// network holds of it. The others wait for its number, 12 s at most; when it
// goes on its client learns that the write was not done, and it serves as before.
func TestAStoppedInstanceHoldsTheOthersUpForTwelveSecondsAtMost(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	proxy := pgtest.NewProxy(t, database)
	stopped, other := instance(t, proxy.URL()), instance(t, database)
	ann := other.User("ann")
	stream := ann.Open("/subscribe/item?name=all")
	onStopped := stopped.User("ann").Open("/subscribe/item?name=all")

	stop := proxy.StopAt(committing("held"))
	held := post(t, stopped, "/data/item", `{"id":"held","n":0}`)
	await(t, "the commit", stop.Reached())
	drawn(t, database, 1)
	stopped.Pause()
	defer stopped.Continue()
	ann.Post("/data/item", `{"id":"meanwhile","n":0}`).Is(201)
	written := time.Now()
	if f := stream.Frame(); f.Subject() != "meanwhile" {
		t.Errorf("told of %s", f.Raw)
	}
	took := time.Since(written)
	t.Logf("held up for %s", took)
	if took > 12*time.Second || took < 5*time.Second {
		t.Errorf("the other instance was held up for %s, want it to wait, and 12s at most", took)
	}
	ann.Post("/data/item", `{"id":"after","n":0}`).Is(201)
	if f := stream.Frame(); f.Subject() != "after" {
		t.Errorf("then told of %s", f.Raw)
	}

	stop.Go()
	stopped.Continue()
	if a := await(t, "the answer", held); a.status != 503 && a.status != 504 {
		t.Errorf("its client is told %+v, want that the write was not done or may not have been", a)
	}
	ann.Get("/data/item/held").Is(404)
	stopped.User("ann").Post("/data/item", `{"id":"again","n":0}`).Is(201)
	for _, want := range []string{"meanwhile", "after", "again"} {
		if f := onStopped.Frame(); f.Subject() != want {
			t.Errorf("the stopped instance tells %s, want %s", f.Raw, want)
		}
	}
	if f := stream.Frame(); f.Subject() != "again" {
		t.Errorf("the other instance tells %s", f.Raw)
	}
}
