package browser

import (
	"regexp"
	"testing"

	"github.com/rowcast/rowcast/internal/browsertest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// A page that has put its token into the session cookie follows with
// EventSource, which can send no header: the three kinds of changes reach it
// under their names, with the ids and rows that any other client sees.
func TestAPageSignsInAndFollows(t *testing.T) {
	clean(t)
	s := servertest.Start(t, servertest.Options{Schema: schema})
	b := browsertest.Balance(t, s.URL)
	ann, page := s.User("ann"), signedIn(t, b, s)
	var cookies string
	if page.Eval("document.cookie", &cookies); cookies != "" {
		t.Errorf("a script of the page reads the session: %q", cookies)
	}
	f := page.Follow("/subscribe/item?name=rows")
	f.Await(browsertest.Opened, 1)
	raw := ann.Open("/subscribe/item?name=rows")

	if got := page.Fetch("POST", "/data/item", `{"id":"a","n":1}`); got != 201 {
		t.Fatalf("a write from the page is answered %d", got)
	}
	created := f.Frame()
	if got, want := created.Row(), ann.Get("/data/item/a").Body; got != want {
		t.Errorf("the page is shown %s\n  GET answers %s", got, want)
	}
	ann.Patch("/data/item/a", `{"n":2}`).Is(200)
	updated := f.Frame()
	ann.Delete("/data/item/a").Is(204)
	deleted := f.Frame()
	for i, e := range []browsertest.Signal{created, updated, deleted} {
		want := raw.Frame()
		if e.Name != want.Event || e.ID != want.ID || e.Data != want.Data {
			t.Errorf("event %d is %s %s %s\n      not %s", i, e.Name, e.ID, e.Data, want.Raw)
		}
	}
	if deleted.Name != "entity.delete" || deleted.Row() != "" {
		t.Errorf("the delete is %s %s", deleted.Name, deleted.Data)
	}
	if n := f.Count(browsertest.Errored); n > 0 {
		t.Errorf("the page saw %d errors", n)
	}
}

// A masked field is masked in the page too, in every frame.
func TestAMaskHoldsInThePage(t *testing.T) {
	clean(t)
	s := servertest.Start(t, servertest.Options{Schema: schema})
	f := signedIn(t, browsertest.Balance(t, s.URL), s).Follow("/subscribe/item?name=rows")
	f.Await(browsertest.Opened, 1)
	ann := s.User("ann")
	ann.Post("/data/item", `{"id":"a","card":"4711"}`).Is(201)
	ann.Patch("/data/item/a", `{"card":"4799"}`).Is(200)
	// A frame shows the row as it is when it is sent: the first may show either.
	either := regexp.MustCompile(`^\{"id":"a","n":null,"card":"\*\*(11|99)"\}$`)
	first, second := f.Frame().Row(), f.Frame().Row()
	if !either.MatchString(first) || second != `{"id":"a","n":null,"card":"**99"}` {
		t.Errorf("the page is shown %s\n           and then %s", first, second)
	}
}

// Without a session, and after it was closed, a stream is refused for good; one
// that is open goes on.
func TestWithoutASessionAPageIsRefusedForGood(t *testing.T) {
	clean(t)
	s := servertest.Start(t, servertest.Options{Schema: schema})
	b := browsertest.Balance(t, s.URL)
	page := chromium.Open(t, b.URL+"/page")
	refused(t, page.Follow("/subscribe/item?name=all"))
	page.SignIn("", s.Token("ann"))
	open := page.Follow("/subscribe/item?name=all")
	open.Await(browsertest.Opened, 1)
	if got := page.Fetch("DELETE", "/session", ""); got != 204 {
		t.Errorf("DELETE /session is answered %d", got)
	}
	refused(t, page.Follow("/subscribe/item?name=all"))
	s.User("ann").Post("/data/item", `{"id":"a"}`).Is(201)
	if got := open.Frame().Subject(); got != "a" {
		t.Errorf("the stream that was open tells of %q", got)
	}
}

// A page of another origin follows where cors.origins lists it; else it is
// refused, with and without a session.
func TestAPageOfAnotherOrigin(t *testing.T) {
	clean(t)
	pages := browsertest.Balance(t) // serves /page and nothing else
	other := browsertest.Balance(t)
	s := servertest.Start(t, servertest.Options{Schema: schema, Boot: `cors: {origins: ["` + pages.URL + `"]}`})
	page := chromium.Open(t, pages.URL+"/page")
	page.SignIn(s.URL, s.Token("ann"))
	f := page.Follow(s.URL + "/subscribe/item?name=all")
	f.Await(browsertest.Opened, 1)
	s.User("ann").Post("/data/item", `{"id":"a"}`).Is(201)
	if got := f.Frame().Subject(); got != "a" {
		t.Errorf("it is told of %q", got)
	}
	page.Go(other.URL + "/page") // the session goes with it: a cookie knows no port
	refused(t, page.Follow(s.URL+"/subscribe/item?name=all"))
}

// refused waits until a follower has given up without ever having been open.
func refused(t *testing.T, f *browsertest.Follower) {
	t.Helper()
	f.Await(browsertest.Errored, 1)
	first := f.Signals()[0]
	if first.Kind != browsertest.Errored || first.State != browsertest.Closed {
		t.Errorf("got %+v, want it to give up at once", first)
	}
}
