package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// Section 7, no resume: here a channel goes on where it stopped, through the very
// same filter and guard, across a restart, by header or by parameter, also from a
// heartbeat; then it is live, without a seam.
func TestAChannelResumes(t *testing.T) {
	s := startBoard(t)
	ann, sue := s.User("ann"), s.User("sue", "staff")
	const path = "/realtime?channel=note&leave=true&filter[title][eq]=x"
	stream := ann.Open(path + "&heartbeat=1s")
	bookmark := stream.Ping().ID
	ann.Post("/data/note", `{"id":"first","title":"x"}`).Is(201)
	last := stream.Frame().ID
	stream.Close()
	ann.Post("/data/note/bulk", `[{"id":"b","title":"y"},{"id":"c","title":"x"}]`).Is(201)
	s.User("bob").Post("/data/note", `{"id":"his","title":"x"}`).Is(201)
	ann.Patch("/data/note/first", `{"title":"y"}`).Is(200)
	ann.Patch("/data/note/b", `{"title":"x"}`).Is(200)
	sue.Delete("/data/note/his").Is(204)
	ann.Delete("/data/note/c").Is(204)
	s.Restart()
	want := []string{"left first", "patched b title", "deleted c", "created live"} // c is gone: of its creation nothing is told
	all := []*servertest.Stream{ann.Resume(path, last), ann.Open(path + "&lastEventId=" + last), ann.Resume(path, bookmark)}
	ann.Post("/data/note", `{"id":"live","title":"x"}`).Is(201)
	for _, again := range all {
		tells(t, again, want...)
	}
}

// Section 7: what cannot be resumed is said in-band, with a place to go on from.
func TestAGapOnAChannel(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	gap := ann.Resume("/realtime?channel=task", "01M2P1R18V26CMVBZ1DC0AS1Z1").Frame()
	if gap.Event != "stream.gap" || gap.JSON()["reason"] != "unknown" || !strings.HasPrefix(gap.ID, "~") {
		t.Errorf("told %s", gap.Raw)
	}
	ann.Post("/data/task", `{"id":"a","title":"x"}`).Is(201)
	tells(t, ann.Resume("/realtime?channel=task", gap.ID), "created a")
}

// Section 7, no filtering by what changed: here changed= tells only the updates in
// which one of the fields named became another, compared with the values before.
// That a row is created, deleted, restored or left is told all the same.
func TestOnlyWhatReallyChanged(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	ann.Post("/data/task", `{"id":"a","title":"x"}`).Is(201)
	const path = "/realtime?channel=task&changed=status,points"
	stream := ann.Open(path)
	crossing := ann.Open("/realtime?channel=task&leave=true&changed=status,points&filter[status][ne]=done")
	last := ann.Open("/realtime?channel=task&heartbeat=1s").Ping().ID
	ann.Post("/data/task", `{"id":"b","title":"x"}`).Is(201)
	ann.Patch("/data/task/a", `{"status":"todo","title":"y"}`).Is(200) // sent, and the same
	ann.Patch("/data/task/a", `{"status":"doing"}`).Is(200)
	ann.Put("/data/task/a", `{"title":"z","status":"doing","points":null}`).Is(200) // only the title
	ann.Put("/data/task/a", `{"title":"z","status":"doing","points":3}`).Is(200)
	ann.Patch("/data/task?filter[id][in]=a,b", `{"points":3}`).Is(200) // b alone becomes another
	ann.Post("/data/task/a/finish", "").Is(200)
	ann.Delete("/data/task/a").Is(204)
	ann.Patch("/data/task/a/restore", "").Is(200)
	want := []string{"created b", "patched a", "updated a", "patched b", "updated a", "deleted a", "restored a"}
	for name, one := range map[string]*servertest.Stream{"live": stream, "resumed": ann.Resume(path, last)} {
		for i, w := range want {
			f := one.Frame()
			if got := f.Event + " " + f.JSON()["id"].(string); got != w {
				t.Fatalf("%s: frame %d is %s, want %s: %s", name, i, got, w, f.Data)
			}
		}
	}
	for _, w := range []string{"created b", "patched a", "updated a", "patched b", "left a", "deleted a"} {
		if f := crossing.Frame(); f.Event+" "+f.JSON()["id"].(string) != w {
			t.Fatalf("with a filter: got %s, want %s", f.Data, w)
		}
	}
	for query, code := range map[string]string{"changed=": "invalid_value", "changed=nope": "invalid_field", "changed=%20,": "invalid_value"} {
		if p := ann.Get("/realtime?channel=task&"+query).Problem(400, "invalid_query"); len(p.Errors) != 1 || p.Errors[0].Code != code {
			t.Errorf("%s is refused as %+v, want %s", query, p.Errors, code)
		}
	}
}

// Section 7, no fan-out beyond one process: what a page cannot see of one instance
// it sees of another, see contract/cluster. A slow subscriber of a channel loses
// nothing: what its buffer had no room for comes from the log, filtered as live.
func TestASlowChannelLosesNothing(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	slow := ann.Stall("/realtime?channel=plain&fields=title")
	const rounds, n = 3, 400
	title := func(round, i int) string { return fmt.Sprintf("%d-%d-%s", round, i, strings.Repeat("x", 2000)) }
	for round := range rounds {
		rows := make([]string, n)
		for i := range rows {
			rows[i] = fmt.Sprintf(`{"id":"%d-%d","title":%q}`, round, i, title(round, i))
		}
		ann.Post("/data/plain/bulk", "["+strings.Join(rows, ",")+"]").Is(201)
	}
	frames := slow.Resume()
	for round := range rounds {
		for i := range n {
			if f := frames.Frame(); f.Event != "created" || item(t, f) != `{"title":"`+title(round, i)+`"}` {
				t.Fatalf("round %d, frame %d: %.200s", round, i, f.Raw)
			}
		}
	}
	if c := s.Counters()[0]; c.Dropped == 0 || c.Delivered+c.Replayed != rounds*n {
		t.Errorf("counters: %+v", c)
	}
}
