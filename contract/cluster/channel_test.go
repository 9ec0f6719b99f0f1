package cluster

import (
	"fmt"
	"testing"

	"github.com/rowcast/rowcast/internal/pgtest"
)

// No fan-out beyond one process, says the contract of channels (section 7). Here a
// channel tells of the writes on every instance, through one filter, and goes on
// where it stopped on another.
func TestAChannelTellsOfBothInstances(t *testing.T) {
	database := pgtest.Database(t)
	one, two := instance(t, database).User("ann"), instance(t, database).User("ann")
	const path = "/realtime?channel=task&leave=true&filter[n][gt]=4"
	onOne, onTwo := one.Open(path), two.Open(path)
	one.Post("/data/task", `{"id":"low","n":1}`).Is(201)
	for i := range 6 {
		first, second := one, two
		if i%2 == 1 {
			first, second = two, one
		}
		id := fmt.Sprintf("t%d", i)
		for _, step := range []struct{ event, id string }{{"created", id}, {"left", id}, {"patched", "low"}, {"left", "low"}} {
			switch step.event {
			case "created":
				first.Post("/data/task", `{"id":"`+id+`","n":5}`).Is(201)
			case "patched":
				second.Patch("/data/task/low", `{"n":9}`).Is(200)
			default:
				second.Patch("/data/task/"+step.id, `{"n":2}`).Is(200)
			}
			a, b := onOne.Frame(), onTwo.Frame()
			if a.Raw != b.Raw || a.Event != step.event || a.JSON()["id"] != step.id {
				t.Fatalf("one tells   %s\nother tells %s\nwant %v", a.Raw, b.Raw, step)
			}
		}
	}
	last := onTwo.LastID()
	onTwo.Close()
	one.Post("/data/task", `{"id":"missed","n":7}`).Is(201)
	two.Post("/data/task", `{"id":"unseen","n":3}`).Is(201)
	again := one.Resume(path, last)
	two.Post("/data/task", `{"id":"live","n":7}`).Is(201)
	for _, want := range []string{"missed", "live"} {
		if f := again.Frame(); f.JSON()["id"] != want {
			t.Errorf("resumed on the other: %s, want %s", f.Data, want)
		}
	}
}
