package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rowcast/rowcast/internal/servertest"
)

// Section 3, channels: one of an entity, one of a row; one event is told on both.
// A row need not be there when its channel is opened.
func TestChannelsOfEntitiesAndRows(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	all, one, other := ann.Open("/realtime?channel=task"), ann.Open("/realtime?channel=task.a"), ann.Open("/realtime?channel=task.b")
	for _, id := range []string{"a", "c", "b"} {
		ann.Post("/data/task", `{"id":"`+id+`","title":"x"}`).Is(201)
	}
	ann.Patch("/data/task/a", `{"points":1}`).Is(200)
	tells(t, all, "created a", "created c", "created b", "patched a points")
	tells(t, one, "created a", "patched a points")
	tells(t, other, "created b")
}

// Section 3: the entity of a channel is the longest that fits, and the rest is an
// id, which may hold dots: a channel of a field does not exist.
func TestAnIDMayHoldDots(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	for i, id := range []string{"a.title", "a.", "..", "a/b c", "é🟢", "task.a"} {
		stream := ann.Open("/realtime?channel=task." + escape(id))
		ann.Post("/data/task/bulk", fmt.Sprintf(`[{"id":"a%d","title":"x"},{"id":%q,"title":"x"}]`, i, id)).Is(201)
		if f := stream.Frame(); f.JSON()["id"] != id || f.JSON()["channel"] != "task."+id {
			t.Errorf("the channel of %q tells %s", id, f.Data)
		}
	}
}

// Section 3: what names no channel is refused, with a word for what is wrong.
func TestChannelsThatAreNone(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	for _, c := range []struct {
		query, code string
		status      int
	}{
		{"", "bad_channel", 400},
		{"channel=", "bad_channel", 400},
		{"channel=task.", "bad_channel", 400},
		{"channel=.task", "bad_channel", 400},
		{"channel=task&channel=task", "bad_channel", 400},
		{"channel=task.%ff", "bad_channel", 400},
		{"channel=nothing", "entity_not_found", 404},
		{"channel=tasks", "entity_not_found", 404},
		{"channel=Task.a", "entity_not_found", 404},
		{"channel=dark", "no_channel", 404},
		{"channel=dark.a", "no_channel", 404},
		{"channel=task&heartbeat=500ms", "bad_heartbeat", 400},
		{"channel=task&lifetime=5h", "bad_lifetime", 400},
		{"channel=task&leave=yes", "bad_parameter", 400},
		{"channel=task&ops=create", "bad_parameter", 400},
		{"channel=task&fields=id&fields=title", "bad_parameter", 400},
	} {
		stream, refusal := ann.Knock("/realtime?" + c.query)
		if stream != nil {
			t.Errorf("%s is opened", c.query)
			continue
		}
		if p := refusal.Problem(c.status, c.code); p.Detail == "" {
			t.Errorf("%s: says too little: %+v", c.query, p)
		}
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		ann.Do(method, "/realtime?channel=task", "").Problem(405, "method_not_allowed")
	}
}

// Section 6, authorization, which the contract leaves out: here a channel is
// guarded as a read is. A credential is judged before any name, then the right to
// read, then the parameters.
func TestAChannelIsARead(t *testing.T) {
	s := startBoard(t)
	expired := s.Sign(jwt.MapClaims{"sub": "ann", "tenant": servertest.Tenant, "exp": time.Now().Add(-time.Hour).Unix()})
	for _, token := range []string{"", "x", expired} {
		for _, query := range []string{"channel=task", "channel=nothing", "channel=", "channel=task&filter[x]=1"} {
			s.As(token).Get("/realtime?"+query).Problem(401, "unauthenticated")
		}
	}
	blind := s.User("ann", "blind")
	for _, query := range []string{"channel=note", "channel=note.a", "channel=note&filter[nope][eq]=1", "channel=note&fields=nope&heartbeat=x"} {
		blind.Get("/realtime?"+query).Problem(403, "forbidden")
	}
}

// Section 6: a frame shows a row only to who may read it, as a read shows it:
// nothing of rows that are not theirs, nor of fields, nor behind masks; changed
// does not name a field that they cannot read.
func TestChannelsAreGuarded(t *testing.T) {
	s := startBoard(t)
	ann, bob, sue := s.User("ann"), s.User("bob"), s.User("sue", "staff")
	hers, his, all, one := ann.Open("/realtime?channel=note"), bob.Open("/realtime?channel=note&leave=true"), sue.Open("/realtime?channel=note"), bob.Open("/realtime?channel=note.a")
	ann.Post("/data/note", `{"id":"a","title":"x","card":"1234"}`).Is(201)
	for _, c := range []struct {
		stream *servertest.Stream
		caller *servertest.Caller
	}{{hers, ann}, {all, sue}} {
		if got, want := item(t, c.stream.Frame()), c.caller.Get("/data/note/a").Is(200).Body; got != want {
			t.Errorf("item %s\n read %s", got, want)
		}
	}
	sue.Patch("/data/note/a", `{"secret":"s","title":"y"}`).Is(200)
	tells(t, hers, "patched a title")
	if got := inShort(all.Frame()); got != "patched a secret,title" && got != "patched a title,secret" {
		t.Errorf("staff is told %s", got)
	}
	sue.Patch("/data/note/a", `{"owner_id":"bob"}`).Is(200) // now it is his
	tells(t, his, "patched a owner_id")
	tells(t, one, "patched a owner_id")
}

// Section 4.3 and 6: the contract tells every removal to every subscriber. Here,
// where rows are ruled, a removal reaches only those who could read the row.
func TestARemovalIsToldToWhoCouldRead(t *testing.T) {
	s := startBoard(t)
	ann, bob := s.User("ann"), s.User("bob")
	ann.Post("/data/note", `{"id":"a"}`).Is(201)
	bob.Post("/data/note", `{"id":"b"}`).Is(201)
	hers, his, item := ann.Open("/realtime?channel=note"), bob.Open("/realtime?channel=note&leave=true"), bob.Open("/realtime?channel=note.a")
	ann.Delete("/data/note/a").Is(204)
	bob.Delete("/data/note/b").Is(204)
	tells(t, hers, "deleted a")
	tells(t, his, "deleted b")
	ann.Post("/data/note", `{"id":"a"}`).Is(201)
	s.User("sue", "staff").Patch("/data/note/a", `{"owner_id":"bob"}`).Is(200)
	tells(t, item, "patched a owner_id")
}

// Section 6, and C1's scope of the fan-out: tenants share nothing. The same channel
// in each tells of its own rows alone, and an event of one is no place in another.
func TestChannelsOfTenantsAreApart(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: board, Tenants: map[string]string{otherTenant: board}})
	ann, zoe := s.User("ann"), s.As(s.TokenOf(otherTenant, "ann"))
	hers, zoes := ann.Open("/realtime?channel=task.a"), zoe.Open("/realtime?channel=task&filter[id][eq]=a")
	ann.Post("/data/task", `{"id":"a","title":"one"}`).Is(201)
	zoe.Post("/data/task", `{"id":"a","title":"two"}`).Is(201)
	for title, stream := range map[string]*servertest.Stream{"one": hers, "two": zoes} {
		f := stream.Frame()
		if row, _ := f.JSON()["item"].(map[string]any); row["title"] != title {
			t.Errorf("told %s, want the row of its own tenant, %s", f.Data, title)
		}
		stream.Close()
	}
	gap := zoe.Resume("/realtime?channel=task", hers.LastID()).Frame()
	if gap.Event != "stream.gap" || gap.JSON()["reason"] != "unknown" {
		t.Errorf("another tenant's event is a place here: %s", gap.Raw)
	}
}
