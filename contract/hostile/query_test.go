package hostile

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/servertest"
)

// deep is a filter of n groups, one in another, as JSON.
func deep(n int) string {
	return "filter=" + url.QueryEscape(strings.Repeat(`{"not":`, n)+`{"n":{"eq":1}}`+strings.Repeat("}", n))
}

func TestQueriesThatAreBombs(t *testing.T) {
	s := besiege(t, servertest.Options{})
	keys := strings.TrimSuffix(strings.Repeat("n,", 1000), ",")
	for name, c := range map[string]struct{ query, code string }{
		"a bad escape":                   {"filter[n][eq]=%zz", "invalid_query"},
		"a raw semicolon":                {"limit=1;limit=2", "invalid_query"},
		"a NUL in an operand":            {"filter[text][eq]=a%00b", "invalid_query"},
		"invalid UTF-8 in an operand":    {"filter[text][eq]=%ff", "invalid_query"},
		"invalid UTF-8 in a field":       {"filter[%ff][eq]=1", "invalid_query"},
		"an unknown field":               {"filter[nothing][eq]=1", "invalid_query"},
		"a field of another":             {"filter[thing.n][eq]=1", "invalid_query"},
		"SQL for a field":                {"filter[n)%20OR%201=1--][eq]=1", "invalid_query"},
		"an unknown operator":            {"filter[n][regex]=.*", "invalid_query"},
		"beyond an int":                  {"filter[n][eq]=2147483648", "invalid_query"},
		"beyond a bigint":                {"filter[big][eq]=9223372036854775808", "invalid_query"},
		"beyond a double":                {"filter[d][lt]=1e400", "invalid_query"},
		"NaN":                            {"filter[d][eq]=NaN", "invalid_query"},
		"no date":                        {"filter[day][eq]=2026-02-30", "invalid_query"},
		"a list beyond its limit":        {"filter[n][in]=" + strings.Repeat("1,", 5000) + "1", "invalid_query"},
		"members beyond the limit":       {strings.Repeat("filter[n][in][]=1&", 2000), "invalid_query"},
		"a pattern beyond its limit":     {"filter[text][like]=" + strings.Repeat("%25a", 5000), "invalid_query"},
		"9,000 conditions on one field":  {strings.Repeat("filter[n][eq]=1&", 3000), "invalid_query"},
		"deep brackets":                  {"filter" + strings.Repeat("[not]", 5000) + "[n][eq]=1", "invalid_query"},
		"deep groups":                    {"filter" + strings.Repeat("[or][0]", 3000) + "[n][eq]=1", "invalid_query"},
		"open brackets":                  {"filter" + strings.Repeat("[", 30000) + "=1", "invalid_query"},
		"deep JSON":                      {deep(1000), "invalid_query"},
		"deep lists":                     {"filter=" + strings.Repeat("[", 10000), "invalid_query"},
		"a JSON key twice":               {"filter=" + url.QueryEscape(`{"n":{"eq":1},"n":{"eq":2}}`), "invalid_query"},
		"JSON and something after it":    {"filter=" + url.QueryEscape(`{"n":{"eq":1}}x`), "invalid_query"},
		"an empty filter":                {"filter=", "invalid_query"},
		"an empty object":                {"filter={}", "invalid_query"},
		"a filter that is none":          {"filterx=1", "invalid_query"},
		"a pattern for a number":         {"filter[n][like]=1", "invalid_query"},
		"1000 sort keys":                 {"sort=" + keys, "invalid_query"},
		"sort by nothing":                {"sort=nothing", "invalid_query"},
		"sort by SQL":                    {"sort=n%20DESC--", "invalid_query"},
		"sort by an object":              {"sort=o", "invalid_query"},
		"fields of no row":               {"fields=" + strings.Repeat("x,", 10000), "invalid_query"},
		"no page":                        {"limit=0", "bad_parameter"},
		"a page beyond all":              {"limit=101", "bad_parameter"},
		"a negative page":                {"limit=-1", "bad_parameter"},
		"a page of text":                 {"limit=1e1", "bad_parameter"},
		"an offset beyond all":           {"offset=9223372036854775808", "bad_parameter"},
		"a limit twice":                  {"limit=1&limit=2", "bad_parameter"},
		"an unknown parameter":           {"Limit=1", "bad_parameter"},
		"30,000 unknown parameters":      {strings.Repeat("a&", 30000), "bad_parameter"},
		"a name of 60,000 bytes":         {strings.Repeat("a", 60000) + "=1", "bad_parameter"},
		"a name of line breaks":          {"a%0d%0aSet-Cookie:%20x=1=1", "bad_parameter"},
		"a token in the query":           {"access_token=x", "bad_parameter"},
		"an empty cursor":                {"cursor=", "invalid_cursor"},
		"a cursor of text":               {"cursor=abc", "invalid_cursor"},
		"a cursor that is long":          {"cursor=" + strings.Repeat("A", 50000), "invalid_cursor"},
		"a cursor and an offset":         {"cursor=abc&offset=1", "bad_parameter"},
		"count that is no flag":          {"count=1", "bad_parameter"},
		"deleted that is no flag":        {"deleted=yes", "bad_parameter"},
		"a masked flag in another case":  {"count=TRUE", "bad_parameter"},
		"an operator in another case":    {"filter[n][EQ]=1", "invalid_query"},
		"a scalar operator with members": {"filter[n][eq][]=1", "invalid_query"},
	} {
		s.send(s.request("GET /data/thing?"+c.query, "", "")).refused(t, name, 400, c.code)
		if strings.HasPrefix(c.query, "filter") {
			s.send(s.request("DELETE /data/thing?"+c.query, "", "")).refused(t, "delete: "+name, 400, c.code)
			s.send(s.request("PATCH /data/thing?"+c.query, asJSON, `{"n":2}`)).refused(t, "patch: "+name, 400, c.code)
		}
	}
	for _, line := range []string{"DELETE /data/thing", "DELETE /data/thing?", "DELETE /data/thing?&&"} {
		if a := s.send(s.request(line, "", "")); a.Status != 400 {
			t.Errorf("%s: answered %d %s", line, a.Status, a.Body)
		}
	}
	s.unharmed()
}

// A line that is longer than any header may be is no request.
func TestAQueryLongerThanHeadersMayBe(t *testing.T) {
	s := besiege(t, servertest.Options{})
	for _, line := range []string{"GET /data/thing?sort=" + strings.Repeat("n,", 1<<20), "GET /" + strings.Repeat("a", 1<<20), strings.Repeat("G", 1<<20) + " /"} {
		if a := s.send(s.request(line, "", "")); a.Status != 431 && a.Status != 414 && a.Status != 0 {
			t.Errorf("%.40s…: answered %d %s", line, a.Status, a.Body)
		}
	}
	s.unharmed()
}

// A cursor is sealed: one flipped bit, a cut, another list or another order makes it none.
func TestCursorsThatWereTouched(t *testing.T) {
	s := besiege(t, servertest.Options{})
	s.ann.Post("/data/thing/bulk", `[{"id":"c1"},{"id":"c2"},{"id":"c3"}]`).Is(201)
	for range 3 {
		s.watch.Frame()
	}
	s.note()
	cursor, _ := s.ann.Get("/data/thing?limit=1&sort=n").Is(200).JSON()["next"].(string)
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) == 0 {
		t.Fatalf("the cursor is %q", cursor)
	}
	s.ann.Get("/data/thing?limit=1&sort=n&cursor=" + cursor).Is(200)
	for bit := range len(raw) * 8 {
		raw[bit/8] ^= 1 << (bit % 8)
		s.ann.Get("/data/thing?limit=1&sort=n&cursor="+base64.RawURLEncoding.EncodeToString(raw)).Problem(400, "invalid_cursor")
		raw[bit/8] ^= 1 << (bit % 8)
	}
	for n := 1; n < len(raw); n++ {
		s.ann.Get("/data/thing?limit=1&sort=n&cursor="+base64.RawURLEncoding.EncodeToString(raw[:n])).Problem(400, "invalid_cursor")
	}
	for _, path := range []string{"/data/thing?limit=1&cursor=", "/data/thing?sort=-n&cursor=", "/data/thing?sort=n&filter[n][gt]=1&cursor=", "/data/note?cursor=", "/data/thing?sort=n&deleted=true&cursor="} {
		s.ann.Get(path+cursor).Problem(400, "invalid_cursor")
	}
	s.unharmed()
}

// Patterns that make a matcher go back and forth for ever cost this one no more
// than reading the texts, in a list and in a many-row write.
func TestPatternsThatBacktrack(t *testing.T) {
	s := besiege(t, servertest.Options{})
	for i := range 5 {
		s.ann.Post("/data/thing", fmt.Sprintf(`{"id":"p%d","text":"%s"}`, i, strings.Repeat("a", 1<<19))).Is(201)
		s.watch.Frame()
	}
	s.note()
	for name, pattern := range map[string]string{
		"many runs":         strings.Repeat("%a", 99) + "%b",
		"runs of one point": strings.Repeat("%_", 99) + "b",
		"a long run":        "%" + strings.Repeat("a", 198) + "b",
		"points and runs":   strings.Repeat("_%", 99) + "b",
	} {
		for _, op := range []string{"like", "ilike"} {
			began := time.Now()
			query := "/data/thing?filter[text][" + op + "]=" + url.QueryEscape(pattern)
			if items, _ := s.ann.Get(query).Is(200).JSON()["items"].([]any); len(items) != 0 {
				t.Errorf("%s: it matches %d rows", name, len(items))
			}
			s.ann.Delete(query).Is(200)
			if took := time.Since(began); took > soon {
				t.Errorf("%s %s took %s", op, name, took)
			}
		}
	}
	s.unharmed()
}
