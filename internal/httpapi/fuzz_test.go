package httpapi

import (
	"strings"
	"testing"
)

// Whatever a row's id is, the path that Location names leads back to it.
func FuzzRowPath(f *testing.F) {
	for _, id := range []string{"a", "a/b", "..", ".", "%", "%2F", "//", "bulk", "é", "\xff", "a b?c#d;e"} {
		f.Add("order", id)
	}
	routes := newDataRoutes()
	f.Fuzz(func(t *testing.T, entity, id string) {
		if entity == "" || id == "" {
			return
		}
		path := rowPath(entity, id)
		for suffix, want := range map[string]*route{"": routes.row, "/restore": routes.restore, "/purge": routes.purge} {
			var c call
			got := routes.find(&c, "GET", strings.TrimPrefix(path, "/data/")+suffix)
			if suffix == "" && id == "bulk" {
				want = routes.bulk
			}
			if got != want || c.entity != entity || c.key != id {
				t.Errorf("%q leads to %s of %q %q, want %s of %q %q", path+suffix, got.pattern, c.entity, c.key, want.pattern, entity, id)
			}
		}
		var c call
		got := routes.find(&c, "POST", strings.TrimPrefix(path, "/data/")+"/act")
		if got != routes.rowOperation || c.entity != entity || c.key != id || c.operation != "act" {
			t.Errorf("%q leads to %s of %q %q %q", path+"/act", got.pattern, c.entity, c.key, c.operation)
		}
	})
}

// A tag matches only where the list holds it, and reading the list ends.
func FuzzIfNoneMatch(f *testing.F) {
	const etag = `"0123456789abcdef"`
	for _, list := range []string{"", "*", etag, "W/" + etag, `"a,b", ` + etag, `"`, `,,,`, `W/`, `"a" "b"`} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		got := matches(list, etag)
		if got && !strings.Contains(list, etag) && !strings.Contains(list, "*") {
			t.Errorf("%q matches", list)
		}
		if !matches(etag+","+list, etag) {
			t.Errorf("%q hides the tag before it", list)
		}
	})
}

// A trace id is 32 lower-case hex digits of the header, or none.
func FuzzTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Add("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes-later")
	f.Add("00--b7ad6b7169203331-01")
	f.Fuzz(func(t *testing.T, header string) {
		if id := traceID(header); id != "" && (!lowerHex(id, 32) || !strings.Contains(header, id)) {
			t.Errorf("%q gives %q", header, id)
		}
	})
}
