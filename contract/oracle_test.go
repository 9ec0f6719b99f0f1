package contract

import (
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// What a subscriber gets: the row as it may read it, and no frame of a row it
// may not. A transaction that writes a row twice shows no state in between, and
// its last state only to who may read that.
func TestTransactionShowsItsLastStateOnlyToItsReaders(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: guarded})
	ann, sue := s.User("ann"), s.User("sue", "staff")
	hers, all := ann.Open("/subscribe/note"), sue.Open("/subscribe/note")
	sue.Post("/data/transaction", `{"writes":[
		{"op":"create","entity":"note","data":{"id":"n","title":"hers","owner_id":"ann"}},
		{"op":"update","entity":"note","id":"n","data":{"title":"his alone","owner_id":"bob"}}]}`).Is(200)
	ann.Get("/data/note/n").Problem(404, "not_found")
	ann.Post("/data/note", `{"id":"next"}`).Is(201)
	if f := hers.Frame(); f.Subject() != "next" {
		t.Errorf("ann is shown a row that a GET hides: %s", f.Data)
	}
	for _, want := range []string{"entity.create", "entity.update"} {
		if f := all.Frame(); f.Event != want || f.Row() != sue.Get("/data/note/n").Body {
			t.Errorf("staff: %s %s", f.Event, f.Data)
		}
	}
}

// The same where the step that takes the row away is published to nobody: what
// was there between two steps was never committed, and nobody is shown it.
func TestTransactionNeverShowsAStateBetweenSteps(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: `
entities:
  - name: note
    fields: [{name: id, type: string}, {name: title, type: string}, {name: owner_id, type: string}]
    rowrules:
      - {name: own, actions: [read], language: expr, expression: row.owner_id == user.id}
      - {name: staff, actions: [read], language: expr, expression: '"staff" in user.roles'}
    events: [{name: arrived, operations: [create]}]
    subscriptions: [{name: arrivals, rls: true}]
`})
	ann, sue := s.User("ann"), s.User("sue", "staff")
	hers, all := ann.Open("/subscribe/note"), sue.Open("/subscribe/note")
	sue.Post("/data/transaction", `{"writes":[
		{"op":"create","entity":"note","data":{"id":"kept","title":"draft","owner_id":"ann"}},
		{"op":"update","entity":"note","id":"kept","data":{"title":"fair copy"}},
		{"op":"create","entity":"note","data":{"id":"moved","title":"draft","owner_id":"ann"}},
		{"op":"update","entity":"note","id":"moved","data":{"owner_id":"bob"}},
		{"op":"create","entity":"note","data":{"id":"gone","title":"draft","owner_id":"ann"}},
		{"op":"delete","entity":"note","id":"gone"}]}`).Is(200)
	ann.Post("/data/note", `{"id":"next","owner_id":"ann"}`).Is(201)
	for name, c := range map[string]struct {
		stream *servertest.Stream
		want   []string
	}{
		"ann": {hers, []string{`{"id":"kept","title":"fair copy","owner_id":"ann"}`, `{"id":"next","title":null,"owner_id":"ann"}`}},
		"staff": {all, []string{`{"id":"kept","title":"fair copy","owner_id":"ann"}`, `{"id":"moved","title":"draft","owner_id":"bob"}`,
			`{"id":"next","title":null,"owner_id":"ann"}`}},
	} {
		for _, want := range c.want {
			if f := c.stream.Frame(); f.Row() != want {
				t.Errorf("%s is shown %s, want %s", name, f.Data, want)
			}
		}
	}
}

// hoard is an entity with unique fields of each sight, whose id is of the type.
func hoard(id string) string {
	return `
entities:
  - name: hoard
    inherits: [softdelete]
    fields:
      - {name: id, type: ` + id + `}
      - {name: owner_id, type: string, defaultvalue: user.id}
      - {name: plain, type: string, validations: [{type: unique}]}
      - {name: masked, type: string, mask: {keeplast: 1}, validations: [{type: unique, message: taken}]}
      - {name: hidden, type: string, validations: [{type: unique, message: taken}]}
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? true : ["create", "read", "update", "delete"]'}
      read: {language: expr, expression: '"staff" in user.roles ? true : ["id","owner_id","plain","masked"]'}
    rowrules:
      - {name: own, actions: [read], language: expr, expression: row.owner_id == user.id}
      - {name: staff, actions: [read], language: expr, expression: '"staff" in user.roles'}
`
}

// Validations, unique: a conflict is the same whatever row is in the way (one
// she reads, another's, a deleted one), and names a field only to who reads it
// unmasked.
func TestConflictTellsNothingOfTheOtherRow(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: hoard("string")})
	ann, sue := s.User("ann"), s.User("sue", "staff")
	for _, row := range []string{
		`{"id":"hers","owner_id":"ann","plain":"p hers","masked":"m hers","hidden":"h hers"}`,
		`{"id":"his","owner_id":"bob","plain":"p his","masked":"m his","hidden":"h his"}`,
		`{"id":"gone","owner_id":"bob","plain":"p gone","masked":"m gone","hidden":"h gone"}`,
		`{"id":"other","owner_id":"ann"}`,
	} {
		sue.Post("/data/hoard", row).Is(201)
	}
	sue.Delete("/data/hoard/gone").Is(204)
	for _, c := range []struct{ body, field string }{
		{`{"id":"%s"}`, "id"}, {`{"id":"new","plain":"p %s"}`, "plain"}, {`{"id":"new","masked":"m %s"}`, ""}, {`{"id":"new","hidden":"h %s"}`, ""},
	} {
		answers := map[string]bool{}
		for _, row := range []string{"hers", "his", "gone"} {
			body := strings.ReplaceAll(c.body, "%s", row)
			p := ann.Post("/data/hoard", body).Problem(409, "conflict")
			if (c.field == "" && len(p.Errors) > 0) || (c.field != "" && (len(p.Errors) != 1 || p.Errors[0].Field != c.field)) {
				t.Errorf("POST %s: the conflict names %+v, want %q", body, p.Errors, c.field)
			}
			answers[ann.Post("/data/hoard", body).Body] = true
			answers[strings.ReplaceAll(ann.Post("/data/hoard/bulk", "["+body+"]").Body, "[0].", "")] = false
			if c.field == "id" {
				continue
			}
			patch := strings.Replace(body, `"id":"new",`, "", 1)
			for _, a := range []*servertest.Answer{ann.Patch("/data/hoard/other", patch), ann.Put("/data/hoard/other", patch),
				ann.Patch("/data/hoard?filter[id][eq]=other", patch)} {
				a.Problem(409, "conflict")
				answers[a.Body] = true
			}
		}
		told := 0
		for body, single := range answers {
			if single {
				told++
			}
			if strings.Contains(body, " his") || strings.Contains(body, " hers") || strings.Contains(body, " gone") {
				t.Errorf("a conflict repeats a value: %s", body)
			}
		}
		if told != 1 {
			t.Errorf("%s: %d different conflicts: %v", c.body, told, answers)
		}
	}
	if got := sue.Get("/data/hoard/other").Body; !strings.Contains(got, `"plain":null,"masked":null,"hidden":null`) {
		t.Errorf("a conflict left something: %s", got)
	}
}

// Row-level security: a row that the caller's rules refuse is refused as that,
// whether or not another row has its unique value, and whoever draws the id.
func TestRefusedRowTellsOfNoConflict(t *testing.T) {
	for _, id := range []string{"string", "int", "ulid"} {
		t.Run(id, func(t *testing.T) {
			s := servertest.Start(t, servertest.Options{Schema: hoard(id)})
			ann, sue := s.User("ann"), s.User("sue", "staff")
			given := func(id string) string { return "" }
			if id == "string" {
				given = func(id string) string { return `"id":"` + id + `",` }
			}
			sue.Post("/data/hoard", `{`+given("x")+`"owner_id":"bob","plain":"taken"}`).Is(201)
			taken := ann.Post("/data/hoard", `{`+given("y")+`"owner_id":"bob","plain":"taken"}`)
			free := ann.Post("/data/hoard", `{`+given("y")+`"owner_id":"bob","plain":"free"}`)
			taken.Problem(403, "row_refused")
			free.Problem(403, "row_refused")
			if taken.Body != free.Body {
				t.Errorf("taken: %s, free: %s", taken.Body, free.Body)
			}
		})
	}
}

// Access rules: to a query a field that the caller cannot read as it is does
// not exist: it answers as a name that the schema does not have.
func TestUnreadableFieldAnswersAsNone(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: vault})
	ann := s.User("ann")
	ann.Post("/data/acct", `{"id":"a"}`).Is(201)
	for _, field := range []string{"secret", "origin", "needed", "blob", "deletedby", "deletedon", "card", "pin", "rank", "born"} {
		masked := field == "card" || field == "pin" || field == "rank" || field == "born"
		for _, q := range []string{
			"?sort=%s", "?sort=-%s,title", "?filter[%s][eq]=1", "?filter[%s][nosuch]=1", "?filter[%s]=1", "?filter[not][%s][isNull]=true",
			`?filter={"%s":{"eq":1}}`, "?filter[%s][in]=1,2&sort=%s", "?fields=%s", "/a?fields=%s",
		} {
			if masked && strings.Contains(q, "fields=") {
				continue // it is shown, as the mask leaves it
			}
			query := strings.NewReplacer("{", "%7B", "}", "%7D", `"`, "%22").Replace(q)
			methods := []string{"GET"}
			if strings.HasPrefix(q, "?filter") && !strings.Contains(q, "sort") {
				methods = append(methods, "PATCH", "DELETE")
			}
			for _, method := range methods {
				body := ""
				if method == "PATCH" {
					body = `{"title":"x"}`
				}
				unread := ann.Do(method, "/data/acct"+strings.ReplaceAll(query, "%s", field), body)
				none := ann.Do(method, "/data/acct"+strings.ReplaceAll(query, "%s", "nofield"), body)
				if unread.Status != 400 || strings.ReplaceAll(unread.Body, field, "nofield") != none.Body {
					t.Errorf("%s %s: %d %s\nof no field: %d %s", method, strings.ReplaceAll(q, "%s", field), unread.Status, unread.Body, none.Status, none.Body)
				}
			}
		}
	}
}

// Access rules: who may write and not read is answered with ids alone, whatever
// the write; no tag and no refusal answers a guess at the row.
func TestBlindWriterIsShownNothing(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: vault})
	blind, ann := s.User("ann", "blind"), s.User("ann")
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "acct", `{"id":"a","title":"guess","origin":"here"}`, 201, `{"id":"a"}`},
		{"PUT", "acct/a", `{"title":"again"}`, 204, ""},
		{"PATCH", "acct/a", `{"title":"guess"}`, 204, ""},
		{"POST", "acct/bulk", `[{"id":"b"}]`, 201, `{"ids":["b"]}`},
		{"POST", "transaction", `{"writes":[{"op":"create","entity":"acct","data":{"id":"c"}},{"op":"update","entity":"acct","id":"a","data":{"title":"guess"}},
			{"op":"delete","entity":"acct","id":"c"}]}`, 200, `{"results":[{"id":"c"},{"id":"a"},null]}`},
	} {
		got := blind.Do(c.method, "/data/"+c.path, c.body)
		if got.Status != c.status || got.Body != c.want || got.Header.Get("ETag") != "" {
			t.Errorf("%s %s: %d %q, ETag %q", c.method, c.path, got.Status, got.Body, got.Header.Get("ETag"))
		}
	}
	for _, path := range []string{"/data/acct", "/data/acct/a", "/data/acct/none", "/data/acct?filter[title][eq]=guess", "/data/acct?deleted=true", "/subscribe/acct?name=all"} {
		blind.Get(path).Problem(403, "forbidden")
	}
	blind.Patch("/data/acct?filter[title][eq]=guess", `{"title":"x"}`).Problem(400, "invalid_query")
	blind.Delete("/data/acct?filter[title][eq]=guess").Problem(400, "invalid_query")
	tag := ann.Get("/data/acct/a").Is(200).Header.Get("ETag")
	for _, guess := range []string{tag, `"x"`} {
		blind.With("If-Match", guess).Patch("/data/acct/a", `{}`).Problem(412, "precondition_failed")
		blind.With("If-None-Match", guess).Patch("/data/acct/a", `{}`).Is(204)
	}
	for _, body := range []string{`{"origin":"here"}`, `{"origin":"there"}`, `{"origin":null}`} {
		blind.Patch("/data/acct/a", body).Problem(422, "invalid")
	}
}

// PUT: a field that is not sent takes its default or null, unless its caller
// cannot read it unmasked, and so could not have sent it back: it is kept.
func TestReplacingKeepsWhatTheCallerCannotRead(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: vault})
	ann, sue := s.User("ann"), s.User("sue", "staff")
	sue.Post("/data/acct", strings.ReplaceAll(worlds[0].row, "{id}", "a")).Is(201)
	ann.Put("/data/acct/a", `{"owner_id":"ann"}`).Is(200)
	got := sue.Get("/data/acct/a").Body
	want := `{"id":"a","title":null,"owner_id":"ann","card":"111134","pin":1,"rank":"low","born":"2001-01-01","secret":"alpha","origin":"here","needed":1,"blob":{"a":1},"deletedby":null,"deletedon":null}`
	if got != want {
		t.Errorf("after ann's PUT the row is\n%s, want\n%s", got, want)
	}
	sue.Put("/data/acct/a", `{"owner_id":"ann"}`).Is(200)
	got, want = sue.Get("/data/acct/a").Body, `{"id":"a","title":null,"owner_id":"ann","card":null,"pin":null,"rank":null,"born":"2001-01-01","secret":null,"origin":"here","needed":5,"blob":null,"deletedby":null,"deletedon":null}`
	if got != want {
		t.Errorf("after staff's PUT the row is\n%s, want\n%s", got, want)
	}
}
