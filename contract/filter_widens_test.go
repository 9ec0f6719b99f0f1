package contract

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rowcast/rowcast/internal/servertest"
)

// pieces make names that begin with filter, well formed and not.
var pieces = []string{
	"[title]", "[title]", "[points]", "[eq]", "[eq]", "[ne]", "[like]", "[in]", "[or]", "[and]", "[not]", "[0]", "[x]", "[]", "[", "]", "[[", "]]", "title", "eq",
	".title", ".", " ", "s", "_", "[EQ]", "[Title]", "[nope]", "[title.x]", "[ eq]", "\x00", "é", "=",
}

// wellFormed is a name that is one condition, by the grammar and nothing else. A
// group in a group is as deep as a filter may be.
var wellFormed = regexp.MustCompile(`^filter(\[(or|and)\]\[[^\[\]]*\]|\[not\]){0,2}(\[title\]\[(eq|ne|like|in)\]|\[points\]\[(eq|ne|in)\])$`)

var wholeNumber = regexp.MustCompile(`^-?\d{1,9}$`)

// texts are values, of both forms of a filter.
var texts = []string{
	"", "x", "1", "true", "{}", "[]", `""`, `"x"`, `{"title":{}}`, `{"or":[]}`, `{"or":[{}]}`, `{"and":{}}`, `{"not":{}}`, `{"not":[]}`, `{"title":"x"}`, `{"title":null}`,
	`{"title":[]}`, `{"":{"eq":"x"}}`, `{"title":{"eq":"x"}}{}`, `{"title":{"eq":"x"},"title":{"eq":"x"}}`, `{"Title":{"eq":"x"}}`, `{"title":{"EQ":"x"}}`, `{"title":{"eq":["x"]}}`,
}

// spelling is a name and a value of a query string.
type spelling struct{ name, text string }

// condition reports whether the spelling is one, as far as these pieces make them.
func (s spelling) condition() bool {
	switch {
	case !wellFormed.MatchString(s.name):
		return false
	case strings.Contains(s.name, "[points]["):
		return wholeNumber.MatchString(s.text)
	}
	return s.text != "" || !strings.HasSuffix(s.name, "[in]")
}

// encoded writes the spelling with some of its characters escaped.
func (s spelling) encoded(t *rapid.T) string {
	var b strings.Builder
	for i := range len(s.name) {
		c := s.name[i]
		if strings.IndexByte("=&%#+; \x00", c) >= 0 || c >= 0x80 || rapid.IntRange(0, 9).Draw(t, "escaped") == 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String() + "=" + url.QueryEscape(s.text)
}

var spellings = rapid.Custom(func(t *rapid.T) spelling {
	name := "filter" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 5).Draw(t, "pieces"), "")
	if rapid.Bool().Draw(t, "nearly right") {
		name = rapid.SampledFrom([]string{"", "[or][0]", "[not]", "[and][x][not]", "[or]", "[or][a][or][b][or][c]"}).Draw(t, "group") + rapid.SampledFrom(
			[]string{"[title][eq]", "[title][ne]", "[points][in]", "[title]", "[title][eq", "title][eq]", "[title][eq]]", "[title][eq][]", "[title][eq].", "[title]eq"}).Draw(t, "condition")
		name = rapid.SampledFrom([]string{"filter", "filter", "filter", "filters", "filter ", "filter.", "filter_"}).Draw(t, "prefix") + name
	}
	return spelling{name, rapid.SampledFrom(texts).Draw(t, "text")}
})

// The filter grammar: a filter never widens silently. Whatever begins with filter
// and is no condition is 400, as a list, a count, a write of many rows and a
// channel, also beside a condition; and nothing is written.
func TestAFilterNeverWidens(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	ann.Post("/data/task/bulk", `[{"id":"a","title":"x","points":1},{"id":"b","title":"y"}]`).Is(201)
	before := ann.Get("/data/task").Is(200).Body
	conditions := 0
	rapid.Check(t, func(t *rapid.T) {
		sent := spellings.Draw(t, "spelling")
		query := sent.encoded(t)
		if rapid.IntRange(0, 3).Draw(t, "beside a condition") == 0 {
			query = "filter[id][eq]=a&" + query
		}
		if sent.condition() {
			conditions++
			is(t, ann.Get("/data/task?"+query), 200)
			return
		}
		for what, a := range map[string]*servertest.Answer{
			"list": ann.Get("/data/task?" + query), "count": ann.Get("/data/task?count=true&limit=1&" + query),
			"PATCH": ann.Patch("/data/task?"+query, `{"title":"widened"}`), "DELETE": ann.Delete("/data/task?" + query),
			"channel": knock(ann, "/realtime?channel=task&"+query), "item": knock(ann, "/realtime?"+query+"&channel=task.a"),
			"no filters": knock(ann, "/realtime?channel=plain&"+query),
		} {
			if a == nil || a.Status != 400 || a.Code() != "invalid_query" {
				t.Fatalf("%s with %s is answered %+v", what, query, a)
			}
		}
	})
	if got := ann.Get("/data/task").Is(200).Body; got != before {
		t.Errorf("the rows were %s and are %s", before, got)
	}
	if conditions == 0 {
		t.Error("nothing drawn is a condition: the names have lost their edge")
	}
}

// knock is what a channel that must be refused is answered; nil where it opens.
func knock(c *servertest.Caller, path string) *servertest.Answer {
	stream, refusal := c.Knock(path)
	if stream != nil {
		stream.Close()
	}
	return refusal
}
