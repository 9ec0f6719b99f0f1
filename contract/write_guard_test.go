package contract

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// guarded has the two ways to rule the row as written: a note by the rules of
// read, since none names create; a deed by a create rule of its own, narrower
// than what its writers may read and change.
const guarded = `
entities:
  - name: note
    inherits: [softdelete]
    fields:
      - {name: id, type: string}
      - {name: title, type: string}
      - {name: owner_id, type: string, defaultvalue: user.id}
    access:
      actions: {language: expr, expression: '["create", "read", "update", "delete", "restore", "purge"]'}
    rowrules:
      - {name: own, actions: [read], language: expr, expression: row.owner_id == user.id}
      - {name: staff, actions: [read], language: expr, expression: '"staff" in user.roles'}
    events: [{name: changed}]
    subscriptions: [{name: all, rls: true}]

  - name: deed
    inherits: [softdelete]
    fields:
      - {name: id, type: string}
      - {name: title, type: string}
      - {name: owner_id, type: string, defaultvalue: user.id}
      - {name: shared, type: boolean, defaultvalue: false}
      - {name: sealed, type: boolean, defaultvalue: false}
    access:
      actions: {language: expr, expression: '["create", "read", "update", "delete", "restore", "purge"]'}
    rowrules:
      - {name: everybody, actions: [read], language: expr, expression: user.id != nil}
      - {name: shared, actions: [update, delete], language: expr, expression: row.owner_id == user.id or row.shared}
      - {name: own, actions: [create], language: expr, expression: row.owner_id == user.id and not row.sealed}
      - {name: staff, actions: [update, delete, create], language: expr, expression: '"staff" in user.roles'}
    events: [{name: changed}]
    subscriptions: [{name: all, rls: true}]
`

// witness sees everything there is: rows, deleted rows and events.
type witness struct {
	t       *testing.T
	server  *servertest.Server
	staff   *servertest.Caller
	streams map[string]*servertest.Stream
	n       int
}

func newWitness(t *testing.T, s *servertest.Server) *witness {
	t.Helper()
	w := &witness{t: t, server: s, staff: s.User("sue", "staff"), streams: map[string]*servertest.Stream{}}
	for _, entity := range []string{"note", "deed"} {
		w.streams[entity] = w.staff.Open("/subscribe/" + entity)
	}
	return w
}

// seed writes a row as staff.
func (w *witness) seed(entity, body string) {
	w.t.Helper()
	w.staff.Post("/data/"+entity, body).Is(201)
	w.streams[entity].Frame()
}

// rows is every row of both entities, deleted or not, and what was published.
func (w *witness) rows() string {
	w.t.Helper()
	var b strings.Builder
	for _, entity := range []string{"note", "deed"} {
		for _, query := range []string{"?limit=100", "?limit=100&deleted=true"} {
			b.WriteString(w.staff.Get("/data/"+entity+query).Is(200).Body + "\n")
		}
	}
	fmt.Fprintf(&b, "published %d", w.server.Counters()[0].Published)
	return b.String()
}

// nothing proves that do wrote nothing: every row is as it was, staff is told
// nothing live, and nothing stands in the log for who resumes.
func (w *witness) nothing(do func()) {
	w.t.Helper()
	last := w.marker()
	before := w.rows()
	do()
	if after := w.rows(); after != before {
		w.t.Errorf("a refused write left something behind:\n%s\nbefore:\n%s", after, before)
	}
	w.marker()
	for entity, id := range last {
		again := w.staff.Resume("/subscribe/"+entity, id)
		if got := again.Frame().Subject(); got != fmt.Sprintf("marker %d", w.n) {
			w.t.Errorf("the log tells of %s %s, which was refused", entity, got)
		}
		again.Close()
	}
}

// marker writes a row that staff must be told of next, and nothing before it.
func (w *witness) marker() map[string]string {
	w.t.Helper()
	w.n++
	id, last := fmt.Sprintf("marker %d", w.n), map[string]string{}
	for entity, stream := range w.streams {
		w.staff.Post("/data/"+entity, `{"id":"`+id+`"}`).Is(201)
		f := stream.Frame()
		if f.Subject() != id {
			w.t.Errorf("staff is told of %s %s, which was refused", entity, f.Subject())
		}
		last[entity] = f.ID
	}
	return last
}

// attempt is one write that must be refused whole.
type attempt struct {
	name         string
	method, path string
	body         string
	status       int
	code         string
}

func refuseAll(t *testing.T, w *witness, ann *servertest.Caller, attempts []attempt) {
	t.Helper()
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) {
			w.t = t
			w.nothing(func() {
				got := ann.Do(a.method, a.path, a.body)
				if got.Status != a.status || !strings.Contains(got.Body, `"code":"`+a.code+`"`) {
					t.Errorf("got %d %s, want %d %s", got.Status, got.Body, a.status, a.code)
				}
			})
		})
	}
}

// Row-level security: no write leaves a row that its writer's rules refuse.
// Where no rule names create, the read rules judge the row as written: nobody
// creates in, or moves into, what is another's. What is refused leaves nothing:
// no row of its request, no event, nothing in the log.
func TestNobodyWritesIntoAnothersRows(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: guarded})
	w, ann := newWitness(t, s), s.User("ann")
	for _, row := range []string{
		`{"id":"a1","title":"hers","owner_id":"ann"}`, `{"id":"a2","title":"hers","owner_id":"ann"}`,
		`{"id":"b1","title":"his","owner_id":"bob"}`, `{"id":"a9","title":"gone","owner_id":"ann"}`,
		`{"id":"b9","title":"gone","owner_id":"bob"}`,
	} {
		w.seed("note", row)
	}
	for _, id := range []string{"a9", "b9"} {
		w.staff.Delete("/data/note/" + id).Is(204)
		w.streams["note"].Frame()
	}
	refuseAll(t, w, ann, []attempt{
		{"POST", "POST", "/data/note", `{"id":"x","owner_id":"bob"}`, 403, "row_refused"},
		{"POST, nobody's", "POST", "/data/note", `{"id":"x","owner_id":null}`, 403, "row_refused"},
		{"POST, an id that exists", "POST", "/data/note", `{"id":"b1","owner_id":"bob"}`, 403, "row_refused"},
		{"PUT", "PUT", "/data/note/a1", `{"title":"hers","owner_id":"bob"}`, 403, "row_refused"},
		{"PUT of his", "PUT", "/data/note/b1", `{"title":"x","owner_id":"ann"}`, 404, "not_found"},
		{"PUT of nothing", "PUT", "/data/note/new", `{"title":"x"}`, 404, "not_found"},
		{"PATCH", "PATCH", "/data/note/a1", `{"owner_id":"bob"}`, 403, "row_refused"},
		{"PATCH, nobody's", "PATCH", "/data/note/a1", `{"owner_id":null}`, 403, "row_refused"},
		{"PATCH, to be taken", "PATCH", "/data/note/b1", `{"owner_id":"ann"}`, 404, "not_found"},
		{"PATCH of a deleted one", "PATCH", "/data/note/a9", `{"title":"x"}`, 404, "not_found"},
		{"many-row PATCH", "PATCH", "/data/note?filter[title][eq]=hers", `{"owner_id":"bob"}`, 403, "row_refused"},
		{"bulk", "POST", "/data/note/bulk", `[{"id":"x"},{"id":"y","owner_id":"bob"},{"id":"z"}]`, 403, "row_refused"},
		{"transaction, create", "POST", "/data/transaction", `{"writes":[
			{"op":"create","entity":"note","data":{"id":"x"}},
			{"op":"create","entity":"note","data":{"id":"y","owner_id":"bob"}}]}`, 403, "row_refused"},
		{"transaction, update", "POST", "/data/transaction", `{"writes":[
			{"op":"update","entity":"note","id":"a1","data":{"title":"x"}},
			{"op":"delete","entity":"note","id":"a2"},
			{"op":"update","entity":"note","id":"a1","data":{"owner_id":"bob"}}]}`, 403, "row_refused"},
		{"transaction, his", "POST", "/data/transaction", `{"writes":[
			{"op":"update","entity":"note","id":"a1","data":{"title":"x"}},
			{"op":"update","entity":"note","id":"b1","data":{"owner_id":"ann"}}]}`, 404, "not_found"},
		{"transaction, created and given away", "POST", "/data/transaction", `{"writes":[
			{"op":"create","entity":"note","data":{"id":"x"}},
			{"op":"update","entity":"note","id":"x","data":{"owner_id":"bob"}}]}`, 403, "row_refused"},
		{"DELETE of his", "DELETE", "/data/note/b1", "", 404, "not_found"},
		{"purge of his", "DELETE", "/data/note/b1/purge", "", 404, "not_found"},
		{"restore of his", "PATCH", "/data/note/b9/restore", "", 404, "not_found"},
		{"restore of his live one", "PATCH", "/data/note/b1/restore", "", 404, "not_found"},
	})
	w.t = t
	w.nothing(func() {
		if got := ann.Patch("/data/note?filter[id][in]=b1,b9,a9", `{"title":"x"}`).Is(200).Body; got != `{"changed":0}` {
			t.Errorf("many-row PATCH of his rows and deleted ones: %s", got)
		}
		if got := ann.Delete("/data/note?filter[id][in]=b1,b9,a9").Is(200).Body; got != `{"changed":0}` {
			t.Errorf("many-row DELETE of his rows and deleted ones: %s", got)
		}
	})
}

// Row-level security: an explicit create rule judges the row as written after
// every write, also where reading and changing reach further.
func TestCreateRuleJudgesEveryRowAsWritten(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: guarded})
	w, ann := newWitness(t, s), s.User("ann")
	for _, row := range []string{
		`{"id":"a1","title":"hers","owner_id":"ann"}`, `{"id":"a2","title":"hers","owner_id":"ann","sealed":true}`,
		`{"id":"b1","title":"his","owner_id":"bob"}`, `{"id":"b2","title":"his","owner_id":"bob","shared":true}`,
		`{"id":"b9","title":"gone","owner_id":"bob","shared":true}`, `{"id":"a9","title":"gone","owner_id":"ann","sealed":true}`,
	} {
		w.seed("deed", row)
	}
	for _, id := range []string{"a9", "b9"} {
		w.staff.Delete("/data/deed/" + id).Is(204)
		w.streams["deed"].Frame()
	}
	ann.Get("/data/deed/b1").Is(200)
	refuseAll(t, w, ann, []attempt{
		{"POST", "POST", "/data/deed", `{"id":"x","owner_id":"bob"}`, 403, "row_refused"},
		{"POST, sealed", "POST", "/data/deed", `{"id":"x","sealed":true}`, 403, "row_refused"},
		{"POST, neither true nor false", "POST", "/data/deed", `{"id":"x","sealed":null}`, 403, "row_refused"},
		{"PUT", "PUT", "/data/deed/a1", `{"owner_id":"bob"}`, 403, "row_refused"},
		{"PUT of a shared one, left his", "PUT", "/data/deed/b2", `{"title":"x","owner_id":"bob","shared":true}`, 403, "row_refused"},
		{"PUT of one she may only read", "PUT", "/data/deed/b1", `{"title":"x","owner_id":"ann"}`, 403, "row_refused"},
		{"PATCH", "PATCH", "/data/deed/a1", `{"owner_id":"bob"}`, 403, "row_refused"},
		{"PATCH, sealed", "PATCH", "/data/deed/a1", `{"sealed":true}`, 403, "row_refused"},
		{"PATCH of what may not be written any more", "PATCH", "/data/deed/a2", `{"title":"x"}`, 403, "row_refused"},
		{"PATCH that changes nothing", "PATCH", "/data/deed/b2", `{}`, 403, "row_refused"},
		{"PATCH of a shared one, left his", "PATCH", "/data/deed/b2", `{"title":"x"}`, 403, "row_refused"},
		{"PATCH of one she may only read", "PATCH", "/data/deed/b1", `{"owner_id":"ann"}`, 403, "row_refused"},
		{"many-row PATCH, one of three", "PATCH", "/data/deed?filter[id][in]=a1,b2", `{"title":"x"}`, 403, "row_refused"},
		{"bulk", "POST", "/data/deed/bulk", `[{"id":"x"},{"id":"y","sealed":true}]`, 403, "row_refused"},
		{"transaction, create", "POST", "/data/transaction", `{"writes":[
			{"op":"create","entity":"note","data":{"id":"x"}},
			{"op":"create","entity":"deed","data":{"id":"x","sealed":true}}]}`, 403, "row_refused"},
		{"transaction, update", "POST", "/data/transaction", `{"writes":[
			{"op":"create","entity":"note","data":{"id":"x"}},
			{"op":"update","entity":"deed","id":"b2","data":{"title":"x"}}]}`, 403, "row_refused"},
		{"transaction, a state between two steps", "POST", "/data/transaction", `{"writes":[
			{"op":"update","entity":"deed","id":"a1","data":{"sealed":true}},
			{"op":"update","entity":"deed","id":"a1","data":{"sealed":false}}]}`, 403, "row_refused"},
		{"restore of a shared one", "PATCH", "/data/deed/b9/restore", "", 403, "row_refused"},
		{"restore of a sealed one", "PATCH", "/data/deed/a9/restore", "", 403, "row_refused"},
	})
	w.t = t
	w.nothing(func() { // what she may read and not change is not touched
		if got := ann.Patch("/data/deed?filter[id][in]=b1,b9", `{"owner_id":"ann","title":"x"}`).Is(200).Body; got != `{"changed":0}` {
			t.Errorf("many-row PATCH: %s", got)
		}
		if got := ann.Delete("/data/deed?filter[id][in]=b1,b9").Is(200).Body; got != `{"changed":0}` {
			t.Errorf("many-row DELETE: %s", got)
		}
	})
	ann.Patch("/data/deed/b2", `{"owner_id":"ann"}`).Is(200) // a shared one may be taken
	if got := w.streams["deed"].Frame(); got.Subject() != "b2" {
		t.Errorf("staff is told of %s, want b2", got.Data)
	}
}

// Idempotency-Key: a write that was refused is not remembered, and its key is
// free; a write that is answered again writes and tells nothing again, and shows
// the row only as its writer may read it now.
func TestIdempotencyKeyWritesOnceAndNeverWhatIsRefused(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: guarded})
	w := newWitness(t, s)
	requests := map[string]struct{ path, refused, good, hidden string }{
		"POST": {"/data/note", `{"id":"x1","owner_id":"bob"}`, `{"id":"x1"}`, `{"id":"x1"}`},
		"bulk": {"/data/note/bulk", `[{"id":"x2"},{"id":"x3","owner_id":"bob"}]`, `[{"id":"x2"}]`, `{"ids":["x2"]}`},
		"transaction": {"/data/transaction", `{"writes":[{"op":"create","entity":"note","data":{"id":"x4","owner_id":"bob"}}]}`,
			`{"writes":[{"op":"create","entity":"note","data":{"id":"x4"}}]}`, `{"results":[{"id":"x4"}]}`},
	}
	for name, r := range requests {
		ann := s.User("ann").With("Idempotency-Key", name)
		w.nothing(func() {
			ann.Post(r.path, r.refused).Problem(403, "row_refused")
			ann.Post(r.path, r.refused).Problem(403, "row_refused")
		})
		first := ann.Post(r.path, r.good)
		if first.Status/100 != 2 {
			t.Fatalf("%s: the key of a refused request is taken: %d %s", name, first.Status, first.Body)
		}
		w.streams["note"].Frame()
		w.nothing(func() {
			again := ann.Post(r.path, r.good)
			if again.Status != first.Status || again.Body != first.Body || again.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s, again: %d %s, first %d %s", name, again.Status, again.Body, first.Status, first.Body)
			}
			ann.Post(r.path, r.refused).Problem(422, "idempotency_mismatch")
		})
		w.staff.Patch("/data/note?filter[owner_id][eq]=ann", `{"owner_id":"bob","title":"his"}`).Is(200)
		w.streams["note"].Frame()
		w.nothing(func() {
			if again := ann.Post(r.path, r.good); again.Status != first.Status || again.Body != r.hidden {
				t.Errorf("%s, answered again once the row is another's: %d %s, want %s", name, again.Status, again.Body, r.hidden)
			}
		})
	}
}

// One transaction of the store holds the writes of many callers: what is
// refused in it takes nothing along, and leaves nothing.
func TestRefusedWritesAmongOthersLeaveNothing(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: guarded})
	w := newWitness(t, s)
	const writers, rounds = 8, 10
	var all sync.WaitGroup
	for i := range writers {
		ann := s.User(fmt.Sprintf("ann %d", i))
		all.Go(func() {
			for k := range rounds {
				good := ann.Post("/data/note", fmt.Sprintf(`{"id":"good %d %d"}`, i, k))
				bad := ann.Post("/data/note", fmt.Sprintf(`{"id":"bad %d %d","owner_id":"bob"}`, i, k))
				if good.Status != 201 || bad.Status != 403 {
					t.Errorf("good: %d %s, bad: %d %s", good.Status, good.Body, bad.Status, bad.Body)
				}
			}
		})
	}
	all.Wait()
	for range writers * rounds {
		if got := w.streams["note"].Frame().Subject(); !strings.HasPrefix(got, "good") {
			t.Errorf("staff is told of %s", got)
		}
	}
	w.marker()
	if got := w.staff.Get("/data/note?count=true&limit=1&filter[id][like]=bad%25").Is(200).JSON()["total"]; fmt.Sprint(got) != "0" {
		t.Errorf("%v refused rows are there", got)
	}
}
