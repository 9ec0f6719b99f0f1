package describe_test

import (
	"slices"
	"strings"
	"testing"
)

func TestADescriptionNamesOnlyWhatItsCallerMayKnow(t *testing.T) {
	s := start(t)
	everybody := []string{"/data/note", "title", "/data/note/tally", "subscribe.note.feed", "realtime.rows.note", "create.box", `"extra"`}
	users := []string{"phone", `"pin"`, `"phase"`, `"ratio"`, "createdon", "/data/note/{id}/finish", "replace.note", `"needed"`, "Idempotency-Key", "list.demand"}
	staff := []string{
		"hush_remark", "hush_level", "hush_low", "/data/hush_ledger", "hush_sum", "subscribe.note.hush_tap", "hush_all", "/data/note/{id}/hush_wipe", "/data/note/hush_sweep",
		"hush_free", "/data/note/{id}/restore", "/data/note/{id}/purge", "deletedon", `"name":"deleted","in"`, "deleteMany.note", "row.box",
	}
	admins := []string{"/admin/data/events/stats", "/metrics", "webhook.hush_hook", "X-Kisai-Signature"}
	nobody := []string{"never", "127.0.0.1"}
	for name, may := range map[string][][]string{
		"anonymous": {everybody}, "user": {everybody, users}, "admin": {everybody, users, admins}, "staff": {everybody, users, staff, admins},
	} {
		text := ""
		for _, path := range paths {
			text += callers(s)[name].Get(path).Is(200).Body
		}
		for _, word := range slices.Concat(everybody, users, staff, admins, nobody) {
			known := slices.Contains(slices.Concat(may...), word)
			if got := strings.Contains(text, word); got != known {
				t.Errorf("%s: %q is told: %v, want %v", name, word, got, known)
			}
		}
		if (name == "user" || name == "anonymous") && strings.Contains(text, "hush") {
			t.Errorf("%s: something withheld is told: %s", name, around(text, "hush"))
		}
	}
}

// around is the place where a word stands.
func around(text, word string) string {
	at := strings.Index(text, word)
	return text[max(0, at-200):min(len(text), at+80)]
}

// A tenant's schema is its own.
func TestAnotherTenantIsNotDescribed(t *testing.T) {
	s := start(t)
	stranger := s.As(s.TokenOf("acme:test:shop:nowhere", "eve", "staff", "admin")).With("Connection", "close")
	for _, path := range paths {
		answer := stranger.Get(path)
		if strings.Contains(answer.Body, "note") || strings.Contains(answer.Body, "hush") {
			t.Errorf("%s tells of another tenant's schema: %s", path, answer.Body)
		}
	}
}

// What a masked field shows is described, and not what it holds.
func TestAMaskIsDescribed(t *testing.T) {
	s := start(t)
	for name, want := range map[string]map[string]string{
		"user": {
			"phone": `{"description":"Masked: each character but the last 2 is shown as *.","type":["string","null"]}`,
			"pin":   `{"description":"Masked: shown as null.","type":"null"}`,
			"title": `{"type":"string"}`,
		},
		"staff": {"phone": `{"type":["string","null"]}`, "pin": `{"format":"int32","type":["integer","null"]}`},
	} {
		doc := callers(s)[name].Get("/openapi.json").Is(200).JSON()
		for field, want := range want {
			if got := text(t, at(t, doc, "components", "schemas", "row.note", "properties", field)); got != want {
				t.Errorf("%s reads %s as %s, want %s", name, field, got, want)
			}
		}
	}
	doc := callers(s)["user"].Get("/openapi.json").Is(200).JSON()
	filter, _ := at(t, doc, "components", "schemas", "filter.note", "properties").(map[string]any)
	for _, field := range []string{"phone", "pin"} {
		if filter[field] != nil {
			t.Errorf("the masked field %s can be filtered by", field)
		}
	}
	if filter["title"] == nil {
		t.Error("title cannot be filtered by")
	}
	for _, parameter := range at(t, doc, "paths", "/data/note", "get", "parameters").([]any) {
		sort := text(t, parameter)
		if strings.Contains(sort, `"name":"sort"`) && (strings.Contains(sort, "phone") || strings.Contains(sort, "pin")) {
			t.Errorf("a masked field can be sorted by: %s", sort)
		}
	}
}

// A field that is not read is in bodies only where nothing else can be done: of who
// reads no row at all, or where a create needs it.
func TestAFieldThatIsNotReadIsWrittenOnly(t *testing.T) {
	s := start(t)
	doc := callers(s)["user"].Get("/openapi.json").Is(200).JSON()
	for path, want := range map[string]string{
		"create.demand":  `{"properties":{"id":{"type":"string"},"needed":{"type":"string","writeOnly":true}},"required":["id","needed"],"type":"object"}`,
		"changes.demand": `{"properties":{"id":{"type":"string"}},"type":"object"}`,
		"replace.demand": `{"properties":{"id":{"type":"string"}},"type":"object"}`,
		"row.demand":     `{"properties":{"id":{"type":"string"}},"title":"demand","type":"object"}`,
	} {
		if got := text(t, at(t, doc, "components", "schemas", path)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	body, _ := at(t, doc, "components", "schemas", "create.box", "properties", "extra").(map[string]any)
	if body["writeOnly"] != true {
		t.Errorf("a field of who may only create is %v", body)
	}
}
