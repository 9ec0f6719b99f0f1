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
	var told []string
	for _, w := range []struct{ method, path, body, want, crossing string }{
		{"POST", "task", `{"id":"b","title":"x"}`, "created b", "created b"},
		{"PATCH", "task/a", `{"status":"todo","title":"y"}`, "", ""}, // sent, and the same
		{"PATCH", "task/a", `{"status":"doing"}`, "patched a status", "patched a status"},
		{"PUT", "task/a", `{"title":"z","status":"doing","points":null}`, "", ""}, // only the title
		{"PUT", "task/a", `{"points":3,"status":"doing","title":"z"}`, "updated a points,status,title", "updated a points,status,title"},
		{"PATCH", "task?filter[id][in]=a,b", `{"points":3}`, "patched b points", "patched b points"}, // b alone becomes another
		{"POST", "task/a/finish", "", "updated a status,done_at", "left a"},
		{"DELETE", "task/a", "", "deleted a", "deleted a"},
		{"PATCH", "task/a/restore", "", "restored a", ""},
		{"POST", "task", `{"id":"c","title":"x"}`, "created c", "created c"},
	} {
		if a := ann.Do(w.method, "/data/"+w.path, w.body); a.Status/100 != 2 {
			t.Fatalf("%s %s: %d %s", w.method, w.path, a.Status, a.Body)
		}
		if w.want != "" {
			tells(t, stream, w.want)
			told = append(told, w.want)
		}
		if w.crossing != "" {
			tells(t, crossing, w.crossing)
		}
	}
	tells(t, ann.Resume(path, last), told...)
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
