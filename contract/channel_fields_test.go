package contract

import (
	"strings"
	"testing"
)

// Section 5: subscribablefields bounds what an item shows, whoever asks and
// however; fields narrows it further and never widens it. The id beside the item
// is always there.
func TestItemsAreNarrowed(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	for _, c := range []struct{ query, body, want string }{
		{"channel=card", `{"id":"a","title":"x","price":1,"memo":"m"}`, `{"title":"x","price":1}`},
		{"channel=card.b", `{"id":"b","title":"x","price":1,"memo":"m"}`, `{"title":"x","price":1}`},
		{"channel=card&fields=price", `{"id":"c","title":"x","price":1}`, `{"price":1}`},
		{"channel=card&fields=price,title,,%20price", `{"id":"d","title":"x","price":1}`, `{"title":"x","price":1}`},
		{"channel=card&fields=", `{"id":"e","title":"x"}`, `{}`},
		{"channel=sheet", `{"id":"f","title":"x","memo":"m"}`, `{"id":"f","title":"x"}`},
		{"channel=sheet&fields=id", `{"id":"g","title":"x","memo":"m"}`, `{"id":"g"}`},
	} {
		stream := ann.Open("/realtime?" + c.query)
		ann.Post("/data/"+entityOf(c.query), c.body).Is(201)
		f := stream.Frame()
		if got := item(t, f); got != c.want || f.JSON()["id"] == "" || f.JSON()["channel"] == "" {
			t.Errorf("%s shows %s, want %s", c.query, got, c.want)
		}
	}
}

// Section 5: a name outside is refused as one that does not exist, and so is one
// that the caller cannot read; a field that is shown masked may be named.
func TestFieldsNeverWiden(t *testing.T) {
	s := startBoard(t)
	ann, sue := s.User("ann"), s.User("sue", "staff")
	for _, query := range []string{"channel=card&fields=%s", "channel=card.a&fields=title,%s", "channel=sheet&fields=%s", "channel=note&fields=id,%s", "channel=note&changed=%s", "channel=card&changed=price,%s"} {
		withheld := map[string]string{"card": "memo", "sheet": "memo", "note": "secret"}[entityOf(query)]
		refused := ann.Get("/realtime?"+fill(query, withheld)).Problem(400, "invalid_query")
		none := ann.Get("/realtime?"+fill(query, "none")).Problem(400, "invalid_query")
		if len(refused.Errors) != 1 || refused.Errors[0].Field != withheld || refused.Errors[0].Code != "invalid_field" || refused.Errors[0].Detail != none.Errors[0].Detail {
			t.Errorf("%s: %+v, of a field that does not exist %+v", query, refused.Errors, none.Errors)
		}
	}
	masked := ann.Open("/realtime?channel=note&fields=card")
	all := sue.Open("/realtime?channel=note&fields=secret,card")
	sue.Post("/data/note", `{"id":"a","owner_id":"ann","card":"1234","secret":"s"}`).Is(201)
	if got := item(t, masked.Frame()); got != `{"card":"**34"}` {
		t.Errorf("masked: %s", got)
	}
	if got := item(t, all.Frame()); got != `{"card":"1234","secret":"s"}` {
		t.Errorf("staff: %s", got)
	}
}

// Section 5: changed is narrowed as the item is, by subscribablefields, by fields,
// and by what the subscriber may read.
func TestChangedIsNarrowedAlike(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	ann.Post("/data/card", `{"id":"a"}`).Is(201)
	all, title := ann.Open("/realtime?channel=card"), ann.Open("/realtime?channel=card.a&fields=title")
	ann.Patch("/data/card/a", `{"memo":"m","price":1}`).Is(200)
	tells(t, all, "patched a price")
	tells(t, title, "patched a")
}

// entityOf is the entity of a channel that a query begins with.
func entityOf(query string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(query, "channel="), "&")
	name, _, _ = strings.Cut(name, ".")
	return name
}
