package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/servertest"
)

const shelf = `entities:
  - name: book
    inherits: [softdelete]
    fields: [{name: id, type: string}, {name: title, type: string}]
    events: [{name: changed}]
    subscriptions: [{name: all}]
    realtime: {filterable: true}
`

// leakCheck fails the test if anything is left once its server has stopped.
func leakCheck(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
}

// The table of routes is what is served: each path takes the methods that the
// table gives it, and no more.
func TestRoutesAreThoseServed(t *testing.T) {
	leakCheck(t)
	s := servertest.Start(t, servertest.Options{Schema: shelf})
	admin := s.User("sam", "admin").With("Connection", "close")
	methods := map[string][]string{}
	for _, row := range read(t, "docs/reference/http.md").section(t, "Routes").table("route") {
		method, path, _ := strings.Cut(strings.Trim(row[0], "`"), " ")
		methods[path] = append(methods[path], method)
	}
	delete(methods, "/data/{entity}/{operation}") // OPTIONS answers for a row of that id
	if len(methods) < 10 {
		t.Fatalf("only %d paths in the table", len(methods))
	}
	for path, want := range methods {
		concrete := strings.NewReplacer("{entity}", "book", "{id}", "1").Replace(path)
		answer := admin.Do("OPTIONS", concrete, "").Is(204)
		got := strings.Split(answer.Header.Get("Allow"), ", ")
		got = slices.DeleteFunc(got, func(m string) bool { return m == "HEAD" || m == "OPTIONS" })
		if path == "/data/{entity}/bulk" {
			got = slices.DeleteFunc(got, func(m string) bool { return m != "POST" }) // the others are of a row with the id bulk
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s takes %v, the table says %v", path, got, want)
		}
	}
}

var words = regexp.MustCompile("`([A-Za-z]+)`")

// The tables of parameters and operators are what a wrong one is answered with.
func TestParametersAreThoseTaken(t *testing.T) {
	leakCheck(t)
	s := servertest.Start(t, servertest.Options{Schema: shelf})
	ann := s.User("ann").With("Connection", "close")
	http, streams, channels := read(t, "docs/reference/http.md"), read(t, "docs/guides/streams.md"), read(t, "docs/guides/channels.md")
	operators := ann.Get("/data/book?filter[title][is]=x").Problem(400, "invalid_query").Errors[0].Detail
	_, operators, _ = strings.Cut(operators, "operators ")
	for name, c := range map[string]struct{ got, want []string }{
		"lists": {
			column(http.section(t, "Lists").table("parameter")),
			ann.Get("/data/book?x=1").Problem(400, "bad_parameter").Available,
		},
		"streams": {
			column(streams.section(t, "Parameters").table("parameter")),
			ann.Get("/subscribe/book?x=1").Problem(400, "bad_parameter").Available,
		},
		"channels": {
			column(channels.section(t, "Parameters").table("parameter")),
			ann.Get("/realtime?channel=book&x=1").Problem(400, "bad_parameter").Available,
		},
		"filters": {
			column(http.section(t, "Filters").table("operator")),
			strings.Split(operators, ", "),
		},
	} {
		c.got = slices.DeleteFunc(c.got, func(s string) bool { return s == "filter" })
		slices.Sort(c.got)
		slices.Sort(c.want)
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: the table has %v, the server takes %v", name, c.got, c.want)
		}
	}
}

// column is the words in code of the first cells.
func column(rows [][]string) (found []string) {
	for _, row := range rows {
		for _, m := range words.FindAllStringSubmatch(row[0], -1) {
			found = append(found, m[1])
		}
	}
	return found
}

func (p page) section(t *testing.T, title string) section {
	t.Helper()
	for _, s := range p.sections() {
		if s.title == title {
			return s
		}
	}
	t.Fatalf("%s has no heading %q", p.path, title)
	return section{}
}
