package contract

import (
	"context"
	"strings"
	"testing"

	"github.com/rowcast/rowcast"
	"github.com/rowcast/rowcast/internal/servertest"
)

// Section 1, the event vocabulary: one of five words for each write, whatever path
// it takes. A removal is deleted, by whichever strategy; a restore is restored.
// Beyond the contract, bulk, many-row and transaction writes are told, too, an
// event a row.
func TestEveryWritePathHasItsWord(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	stream := ann.Open("/realtime?channel=task")
	for _, w := range []struct{ method, path, body, want string }{
		{"POST", "task", `{"id":"a","title":"x"}`, "created a"},
		{"PUT", "task/a", `{"title":"y"}`, "updated a title"},
		{"PATCH", "task/a", `{"points":3}`, "patched a points"},
		{"DELETE", "task/a", "", "deleted a"},
		{"PATCH", "task/a/restore", "", "restored a"},
		{"DELETE", "task/a/purge", "", "deleted a"},
		{"POST", "task/bulk", `[{"id":"b","title":"x"},{"id":"c","title":"x"}]`, "created b; created c"},
		{"PATCH", "task?filter[title][eq]=x", `{"status":"doing"}`, "patched b status; patched c status"},
		{"DELETE", "task?filter[id][eq]=b", "", "deleted b"},
		{"DELETE", "task/b/purge", "", "deleted b"}, // of a row that was deleted before
		{"POST", "transaction", `{"writes":[{"op":"create","entity":"task","data":{"id":"d","title":"x"}},{"op":"update","entity":"task","id":"d","data":{"points":1}},
			{"op":"delete","entity":"task","id":"c"}]}`, "created d; patched d points; deleted c"},
	} {
		if a := ann.Do(w.method, "/data/"+w.path, w.body); a.Status/100 != 2 {
			t.Fatalf("%s %s: %d %s", w.method, w.path, a.Status, a.Body)
		}
		tells(t, stream, strings.Split(w.want, "; ")...)
	}
}

// Section 1: only what was written is told. A refused write, one that fails
// half-way, and a read publish nothing.
func TestWhatIsNotWrittenIsNotTold(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	stream := ann.Open("/realtime?channel=task")
	ann.Post("/data/task", `{"id":"a"}`).Problem(422, "invalid")
	ann.Post("/data/task/bulk", `[{"id":"b","title":"x"},{"id":"b","title":"x"}]`).Problem(409, "conflict")
	ann.Post("/data/transaction", `{"writes":[{"op":"create","entity":"task","data":{"id":"c","title":"x"}},{"op":"delete","entity":"task","id":"none"}]}`).Problem(404, "not_found")
	ann.Patch("/data/task/none", `{"points":1}`).Problem(404, "not_found")
	ann.Post("/data/task/none/finish", "").Problem(404, "not_found")
	ann.Get("/data/task").Is(200)
	ann.Post("/data/task", `{"id":"last","title":"x"}`).Is(201)
	tells(t, stream, "created last")
}

// Section 1: a custom operation is told under the word that it declares, never
// under its own name; one that declares none is told to nobody. Its id is that of
// the row it was asked on, and changed are the fields that it sets.
func TestAnOperationIsToldAsItDeclares(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	ann.Post("/data/task", `{"id":"a","title":"x"}`).Is(201)
	stream, row := ann.Open("/realtime?channel=task"), ann.Open("/realtime?channel=task.a&fields=status")
	ann.Post("/data/task/a/tidy", "").Is(200)
	ann.Post("/data/task/a/finish", "").Is(200)
	f := stream.Frame()
	if got := inShort(f); got != "updated a done_at,status" && got != "updated a status,done_at" {
		t.Errorf("finish is told as %s", got)
	}
	if got, want := item(t, f), ann.Get("/data/task/a").Is(200).Body; got != want {
		t.Errorf("item %s\n read %s", got, want)
	}
	if f := row.Frame(); item(t, f) != `{"status":"done"}` || inShort(f) != "updated a status" {
		t.Errorf("narrowed to its status: %s", f.Data)
	}
	ann.Post("/data/task/a/renew", "").Is(200)
	tells(t, stream, "created a")
}

// Section 1: what holds of a standard write's settings holds of an operation:
// muted with the word it declares, unless it says otherwise itself.
func TestSettingsHoldForOperations(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	tasks, muted := ann.Open("/realtime?channel=task"), ann.Open("/realtime?channel=muted")
	ann.Post("/data/task", `{"id":"a","title":"x"}`).Is(201)
	ann.Post("/data/task/a/hush", "").Is(200)
	ann.Post("/data/task/a/whisper", "").Is(200)
	ann.Post("/data/task/a/finish", "").Is(200)
	tells(t, tasks, "created a")
	if f := tasks.Frame(); f.Event != "updated" {
		t.Errorf("a muted operation is told: %s", f.Data)
	}
	ann.Post("/data/muted", `{"id":"m"}`).Is(201)
	ann.Patch("/data/muted/m", `{"title":"x"}`).Is(200)
	ann.Post("/data/muted/m/fix", "").Is(200)
	ann.Post("/data/muted/m/cry", "").Is(200)
	tells(t, muted, "created m", "patched m title")
	ann.Delete("/data/muted/m").Is(204)
	tells(t, muted, "deleted m")
}

// Section 1: an operation that is told as deleted shows no value, though its row
// stands; whatever it returns goes to its caller alone.
func TestAnOperationToldAsDeletedShowsNothing(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	ann.Post("/data/task", `{"id":"a","title":"x"}`).Is(201)
	stream := ann.Open("/realtime?channel=task&filter[title][eq]=none")
	if a := ann.Post("/data/task/a/scrap", "").Is(200); a.JSON()["title"] != "scrapped" {
		t.Errorf("its caller is answered %s", a.Body)
	}
	if f := stream.Frame(); inShort(f) != "deleted a" || item(t, f) != "null" {
		t.Errorf("told %s", f.Data)
	}
}

// Section 1: an operation in Go is told as it declares, of the row it was asked
// on, or, where it creates one, of that row; beside it each write of its handler
// has its own word. changed are the fields that the handler gave.
func TestAnOperationInGoIsTold(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: board, Embed: func(c *rowcast.Config) {
		c.Operations = []rowcast.Operation{
			{Entity: "task", Name: "split", RealtimeEvent: "updated", Handler: func(_ context.Context, c *rowcast.Call) error {
				if _, err := c.Create("task", map[string]any{"id": c.Row().ID() + ".half", "title": "half"}); err != nil {
					return err
				}
				if err := c.Set("points", 1); err != nil {
					return err
				}
				return c.Patch(map[string]any{"title": "halved"})
			}},
			{Entity: "task", Name: "open", Action: "create", RealtimeEvent: "created", Handler: func(_ context.Context, c *rowcast.Call) error {
				_, err := c.Create("task", map[string]any{"id": "opened", "title": "opened"})
				return err
			}},
		}
	}})
	ann := s.User("ann")
	ann.Post("/data/task", `{"id":"a","title":"x"}`).Is(201)
	stream := ann.Open("/realtime?channel=task")
	ann.Post("/data/task/a/split", "").Is(200)
	got := map[string]bool{}
	for range 2 {
		f := stream.Frame()
		got[inShort(f)] = true
		if id := f.JSON()["id"].(string); item(t, f) != ann.Get("/data/task/"+id).Is(200).Body {
			t.Errorf("item is not what is read: %s", f.Data)
		}
	}
	if !got["created a.half"] || !got["updated a points,title"] && !got["updated a title,points"] {
		t.Errorf("split is told as %v", got)
	}
	ann.Post("/data/task/open", "").Is(200)
	tells(t, stream, "created opened")
}
