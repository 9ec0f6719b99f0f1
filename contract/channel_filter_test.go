package contract

import (
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// Section 4.1, parsing and validation: filtering is opt-in for each entity; what
// cannot be filtered is refused before a stream opens, with REST's own words.
func TestFilteringIsOptIn(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	p := ann.Get("/realtime?channel=plain&filter[title][eq]=x").Problem(400, "invalid_query")
	if len(p.Errors) != 1 || p.Errors[0].Field != "filter" || !strings.Contains(p.Errors[0].Detail, "plain") {
		t.Errorf("says %+v", p)
	}
	for _, query := range []string{
		"filter[status][bogus]=todo", "filter[status][eq]=lost", "filter[nope][eq]=1", "filter[owner.name][eq]=x", "filter[points][in]=" + strings.Repeat("1,", 100) + "1",
		"filter[title][like]=" + strings.Repeat("a", 201), "filter[or][0][or][0][or][0][or][0][title][eq]=x", "filter=%7B%7D", "filter[title][eq]=x&filter[points][eq]=x&filter[nope][eq]=1",
	} {
		stream, refusal := ann.Knock("/realtime?channel=task&" + query)
		if stream != nil {
			t.Errorf("%s is opened", query)
			continue
		}
		list := ann.Get("/data/task?"+query).Problem(400, "invalid_query")
		if p := refusal.Problem(400, "invalid_query"); len(p.Errors) == 0 || !sameErrors(p, errorsOf(list)) {
			t.Errorf("%s: the channel refuses %+v, the list %+v", query, p.Errors, list.Errors)
		}
	}
}

func errorsOf(p servertest.Problem) (all []caseError) {
	for _, e := range p.Errors {
		all = append(all, caseError{e.Field, e.Code})
	}
	return all
}

// Section 4.1 and 5: a channel is filtered only by what may leave on it. A field
// that may not is refused like one that does not exist.
func TestAFilterNamesWhatLeaves(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	for _, query := range []string{"channel=card&filter[memo][eq]=x", "channel=card.a&filter[not][memo][isNull]=true", "channel=sheet&filter[memo][eq]=x", "channel=card&filter[id][eq]=a"} {
		p := ann.Get("/realtime?"+query).Problem(400, "invalid_query")
		none := ann.Get("/realtime?"+strings.NewReplacer("memo", "none", "[id]", "[none]").Replace(query)).Problem(400, "invalid_query")
		if strings.NewReplacer("memo", "none", `"id"`, `"none"`).Replace(p.Errors[0].Detail) != none.Errors[0].Detail || p.Errors[0].Code != "invalid_field" {
			t.Errorf("%s: %+v, of a field that does not exist %+v", query, p.Errors, none.Errors)
		}
	}
	ann.Open("/realtime?channel=card&fields=title&filter[price][gt]=1")
}

// Section 4.2, evaluation: decided for each subscriber of each event, as SQL
// decides: a comparison with null is unknown, unknown is no match, and so is its
// negation. A filter sees the whole row, whatever fields says.
func TestAFilterDecidesAsSQLDoes(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	want := map[string][]string{
		"filter[points][ne]=1":                                     {"b"},
		"filter[not][points][eq]=1":                                {"b"},
		"filter[points][notIn]=1,3":                                {"b"},
		"filter[points][isNull]=true":                              {"c"},
		"filter[title][like]=_.*":                                  {"c"},
		"filter[title][ilike]=A%25&fields=points":                  {"a", "b"},
		"filter[or][0][points][eq]=2&filter[or][1][title][eq]=x.*": {"b", "c"},
	}
	streams := map[string]*servertest.Stream{}
	for query := range want {
		streams[query] = ann.Open("/realtime?channel=task&" + query)
	}
	ann.Post("/data/task/bulk", `[{"id":"a","title":"a","points":1},{"id":"b","title":"ab","points":2},{"id":"c","title":"x.*"}]`).Is(201)
	for query, ids := range want {
		for _, id := range ids {
			tells(t, streams[query], "created "+id)
		}
	}
	ann.Delete("/data/task/a").Is(204) // told to all: nothing came before it
	for _, stream := range streams {
		tells(t, stream, "deleted a")
	}
}

// Section 4.3, crossing a filter: a row that comes to match is told by the
// write's own word. One that stops matching is told nothing of; beyond the
// contract, who asks with leave=true is told left, the id and no value.
func TestEnterAndLeave(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	ann.Post("/data/task", `{"id":"a","title":"x"}`).Is(201)
	ann.Post("/data/task", `{"id":"b","title":"x"}`).Is(201)
	silent, asked := ann.Open("/realtime?channel=task&filter[status][eq]=doing"), ann.Open("/realtime?channel=task.a&leave=true&filter[status][eq]=doing")
	ann.Patch("/data/task/a", `{"status":"doing"}`).Is(200)
	ann.Put("/data/task/a", `{"title":"y","status":"done"}`).Is(200)
	ann.Patch("/data/task/a", `{"points":7}`).Is(200) // it neither matched nor does
	ann.Put("/data/task/a", `{"status":"doing","title":"y"}`).Is(200)
	tells(t, silent, "patched a status")
	if got := inShort(silent.Frame()); !strings.HasPrefix(got, "updated a") {
		t.Errorf("who did not ask is told %s", got)
	}
	tells(t, asked, "patched a status")
	f := asked.Frame()
	if inShort(f) != "left a" || item(t, f) != "null" || strings.Contains(f.Data, "title") {
		t.Errorf("a row that left: %s", f.Data)
	}
	if got := inShort(asked.Frame()); !strings.HasPrefix(got, "updated a") {
		t.Errorf("after it left: %s", got)
	}
}

// Section 4.3, beyond the contract: a row that goes out of sight leaves as one
// that stops matching does; a row that nobody could see, or that did not match,
// is told nothing of, whether or not it is asked for.
func TestLeavingOutOfSight(t *testing.T) {
	s := startBoard(t)
	ann, sue := s.User("ann"), s.User("sue", "staff")
	ann.Post("/data/note/bulk", `[{"id":"a","title":"x"},{"id":"b","title":"y"}]`).Is(201)
	asked, silent := ann.Open("/realtime?channel=note&leave=true&filter[title][eq]=x"), ann.Open("/realtime?channel=note")
	sue.Patch("/data/note/b", `{"owner_id":"bob"}`).Is(200) // did not match
	sue.Patch("/data/note/a", `{"owner_id":"bob"}`).Is(200)
	sue.Patch("/data/note/a", `{"title":"z"}`).Is(200) // of somebody else
	sue.Delete("/data/note/a").Is(204)
	ann.Post("/data/note", `{"id":"c","title":"x"}`).Is(201)
	tells(t, asked, "left a", "created c")
	tells(t, silent, "created c")
}

// Section 4.3: a removal is told whatever the filter; a restored row is judged
// like any other.
func TestRemovalsAndRestoresCrossAFilter(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	ann.Post("/data/task/bulk", `[{"id":"a","title":"x"},{"id":"b","title":"y"}]`).Is(201)
	stream := ann.Open("/realtime?channel=task&leave=true&filter[title][eq]=x")
	for _, id := range []string{"b", "a"} {
		ann.Delete("/data/task/" + id).Is(204)
	}
	for _, id := range []string{"b", "a"} {
		ann.Patch("/data/task/"+id+"/restore", "").Is(200)
	}
	tells(t, stream, "deleted b", "deleted a", "restored a")
}

// The filter grammar, LIKE: matching is linear, in memory and in a store. A
// pattern that sends a backtracking matcher into years takes no time to speak of.
func TestLikeIsLinear(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	const query = "filter[title][like]=%25a%25a%25a%25a%25a%25b"
	stream := ann.Open("/realtime?channel=task&" + query)
	long := strings.Repeat("a", 100_000)
	ann.Post("/data/task", `{"id":"no","title":"`+long+`"}`).Is(201)
	ann.Post("/data/task", `{"id":"yes","title":"`+long+`b"}`).Is(201)
	tells(t, stream, "created yes")
	for _, op := range []string{"like", "ilike"} {
		list := strings.Replace(query, "like", op, 1)
		if got := ann.Get("/data/task?fields=id&" + list).Is(200).Body; !strings.HasPrefix(got, `{"items":[{"id":"yes"}],`) {
			t.Errorf("%s: the list is %.200s", op, got)
		}
	}
	if got := ann.Patch("/data/task?"+query, `{"points":1}`).Is(200).Body; got != `{"changed":1}` {
		t.Errorf("a write of many rows answers %s", got)
	}
}
