package delivery

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/servertest"
)

// What the guarantee is: a delivery is queued in the write's own transaction.
// Whatever turns the write back leaves nothing to deliver, be it a rule, a
// condition that cannot be evaluated, a precondition or the caller's own mistake.
func TestAWriteThatIsTurnedBackQueuesNothing(t *testing.T) {
	t.Parallel()
	r := servertest.Receive(t)
	s := open(t, r.Target("all", "topics: [entity.note, entity.offer, ticket.opened]"))
	ann := s.User("ann")
	first := ann.Post("/data/note", `{"id":"first"}`).Is(201)
	ann.Post("/data/transaction", `{"writes":[
		{"op":"create","entity":"note","data":{"id":"a"}},
		{"op":"create","entity":"offer","data":{"id":"b","owner_id":"bob"}}]}`).Problem(403, "row_refused")
	ann.Post("/data/ticket", `{"id":"t"}`).Problem(500, "event_condition_failed")
	ann.Post("/data/transaction", `{"writes":[
		{"op":"create","entity":"note","data":{"id":"c"}},
		{"op":"create","entity":"ticket","data":{"id":"t"}}]}`).Problem(500, "event_condition_failed")
	ann.With("If-Match", `"another"`).Patch("/data/note/first", `{"text":"x"}`).Problem(412, "precondition_failed")
	ann.With("If-Match", `"another"`).Delete("/data/note/first").Problem(412, "precondition_failed")
	ann.Post("/data/note/bulk", `[{"id":"d"},{"id":"first"}]`).Problem(409, "conflict")
	ann.Patch("/data/note/nowhere", `{"text":"x"}`).Problem(404, "not_found")
	ann.Post("/data/note", `{"id":"e","txt":"x"}`).Is(422)
	ann.With("If-Match", first.Header.Get("ETag")).Patch("/data/note/first", `{"text":"y"}`).Is(200)
	deskOf(t, s).idle()
	if got := toldOf(t, r.All()); !slices.Equal(got, []string{"create first", "update first"}) {
		t.Errorf("told of %v", got)
	}
}

// toldOf are operation and row of each request, sorted: without order: row the
// order in which they come is not promised.
func toldOf(t *testing.T, got []servertest.Received) (all []string) {
	t.Helper()
	for _, one := range got {
		ev := decode(t, one.Body)
		all = append(all, ev.Operation+" "+ev.Subject)
	}
	slices.Sort(all)
	return all
}

func bodies(got []servertest.Received) string {
	var text strings.Builder
	for _, one := range got {
		text.WriteString("\n" + one.ID + " " + string(one.Body))
	}
	return text.String()
}

// A write that commits has all its events queued: each row of a bulk, of a
// transaction and of a write of many rows, once for each target and topic.
func TestEachChangeIsQueuedOnceForEachTargetAndTopic(t *testing.T) {
	t.Parallel()
	r := servertest.Receive(t)
	s := open(t, r.Target("one", "topics: [entity.note, ticket.opened, ticket.large]"), r.Target("two", noteTopic))
	ann := s.User("ann")
	ann.Post("/data/note/bulk", `[{"id":"a"},{"id":"b"},{"id":"c"}]`).Is(201)
	ann.Post("/data/transaction", `{"writes":[
		{"op":"create","entity":"ticket","data":{"id":"t","n":9}},
		{"op":"update","entity":"note","id":"a","data":{"text":"x"}},
		{"op":"delete","entity":"note","id":"b"}]}`).Is(200)
	ann.Patch("/data/note?filter[id][in]=a,c", `{"text":"y"}`).Is(200)
	deskOf(t, s).idle()
	want := map[string]int{
		"entity.note create a": 2, "entity.note create b": 2, "entity.note create c": 2, "ticket.opened create t": 1, "ticket.large create t": 1,
		"entity.note update a": 4, "entity.note delete b": 2, "entity.note update c": 2,
	}
	got := map[string]int{}
	ids := map[string]bool{}
	for _, one := range r.All() {
		ev := decode(t, one.Body)
		got[one.Topic+" "+ev.Operation+" "+ev.Subject]++
		ids[one.ID] = true
	}
	sum := 0
	for what, n := range want {
		if sum += n; got[what] != n {
			t.Errorf("%s came %d times, want %d", what, got[what], n)
		}
	}
	if len(r.All()) != sum || len(ids) != sum {
		t.Errorf("%d requests of %d deliveries, want %d", len(r.All()), len(ids), sum)
	}
}

// A queue that cannot be written fails the write: committing anyway would lose
// the event. Only what publishes to a topic that a target asked for is affected,
// and once the queue can be written again everything is as before.
func TestAQueueThatCannotBeWrittenFailsTheWrite(t *testing.T) {
	t.Parallel()
	r := servertest.Receive(t)
	s := open(t, r.Target("billing", "topics: [entity.note, ticket.large]"))
	ann := s.User("ann")
	stream := ann.Open("/subscribe/note")
	ann.Post("/data/note", `{"id":"before"}`).Is(201)
	stream.Frame()
	store := storeOf(t, s)
	store.exec(store.fill)
	for name, refused := range map[string]*servertest.Answer{
		"a create":       ann.Post("/data/note", `{"id":"lost"}`),
		"an update":      ann.Patch("/data/note/before", `{"text":"x"}`),
		"a delete":       ann.Delete("/data/note/before"),
		"a bulk":         ann.Post("/data/note/bulk", `[{"id":"lost"}]`),
		"a transaction":  ann.Post("/data/transaction", `{"writes":[{"op":"create","entity":"scrap","data":{"id":"lost"}},{"op":"create","entity":"note","data":{"id":"lost"}}]}`),
		"many rows":      ann.Patch("/data/note?filter[id][eq]=before", `{"text":"x"}`),
		"its own ticket": ann.Post("/data/ticket", `{"id":"lost","n":6}`),
	} {
		if refused.Status != http.StatusServiceUnavailable || refused.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d, Retry-After %q: %s", name, refused.Status, refused.Header.Get("Retry-After"), refused.Body)
		}
		if strings.Contains(refused.Body, "rowcast_deliveries") || strings.Contains(refused.Body, "disk") {
			t.Errorf("%s tells the caller of the store: %s", name, refused.Body)
		}
	}
	ann.Post("/data/scrap", `{"id":"free"}`).Is(201)
	ann.Post("/data/ticket", `{"id":"small","n":1}`).Is(201) // its condition sends it to no topic that is asked for
	store.exec(store.clear)
	for _, path := range []string{"/data/note/lost", "/data/scrap/lost", "/data/ticket/lost"} {
		ann.Get(path).Problem(404, "not_found")
	}
	ann.Patch("/data/note/before", `{"text":"after"}`).Is(200)
	if f := stream.Frame(); f.Subject() != "before" || f.Event != "entity.update" {
		t.Errorf("the stream is told of a write that failed: %s", f.Data)
	}
	deskOf(t, s).idle()
	if got := toldOf(t, r.All()); !slices.Equal(got, []string{"create before", "update before"}) {
		t.Errorf("told of %v", got)
	}
}

// datastore is a server's own, reached past the server.
type datastore struct {
	exec        func(sql string)
	fill, clear string // makes the queue one that cannot be written, and one that can
}

func storeOf(t *testing.T, s *servertest.Server) datastore {
	t.Helper()
	if url := s.Database(); url != "" {
		db, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
		return datastore{func(sql string) {
			t.Helper()
			if _, err := db.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}, `SET search_path = t1; CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full USING MESSAGE = 'no space left on device'; END $$;
			CREATE TRIGGER full_disk BEFORE INSERT ON _rowcast_deliveries EXECUTE FUNCTION full_disk()`,
			`DROP TRIGGER full_disk ON t1._rowcast_deliveries`}
	}
	db, err := sqlite3.Open("file:" + filepath.ToSlash(filepath.Join(s.Dir, "data", "t1.db")) + "?_pragma=busy_timeout(30000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return datastore{func(sql string) {
		t.Helper()
		if err := db.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}, `CREATE TRIGGER full_disk BEFORE INSERT ON _rowcast_deliveries BEGIN SELECT RAISE(ABORT, 'no space left on device'); END`,
		`DROP TRIGGER full_disk`}
}
