package stream

import (
	"slices"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/schema"
	"github.com/rowcast/rowcast/schema/schematest"
)

// Channels contract, section 3: ENTITY or ENTITY.ID, split at the longest name
// that exists.
func TestChannelOf(t *testing.T) {
	exists := func(name string) bool { return slices.Contains([]string{"note", "note.tag", "book"}, name) }
	cases := map[string]struct {
		want Channel
		code fault.Code
	}{
		"channel=book":                           {want: Channel{"book", ""}},
		"channel=book.1":                         {want: Channel{"book", "1"}},
		"channel=book.a.b":                       {want: Channel{"book", "a.b"}},
		"channel=book..":                         {want: Channel{"book", "."}},
		"channel=book.a.":                        {want: Channel{"book", "a."}},
		"channel=book.a%20b%2Fc":                 {want: Channel{"book", "a b/c"}},
		"channel=note":                           {want: Channel{"note", ""}},
		"channel=note.tag":                       {want: Channel{"note.tag", ""}},
		"channel=note.tag.7":                     {want: Channel{"note.tag", "7"}},
		"channel=note.tags":                      {want: Channel{"note", "tags"}},
		"channel=note.7":                         {want: Channel{"note", "7"}},
		"channel=book&filter[a][eq]=%zz":         {want: Channel{"book", ""}}, // told with the filter
		"%63hannel=book":                         {want: Channel{"book", ""}},
		"":                                       {code: fault.BadChannel},
		"channel":                                {code: fault.BadChannel},
		"channel=":                               {code: fault.BadChannel},
		"channel=.":                              {code: fault.BadChannel},
		"channel=.book":                          {code: fault.BadChannel},
		"channel=book.":                          {code: fault.BadChannel},
		"channel=." + strings.Repeat("a", 40000): {code: fault.BadChannel},
		"channel=nope.":                          {code: fault.BadChannel},
		"channel=note.tag.":                      {code: fault.BadChannel},
		"channel=book.%ff":                       {code: fault.BadChannel},
		"channel=book&channel=book":              {code: fault.BadChannel},
		"channel=book.%zz":                       {code: fault.BadChannel},
		"Channel=book":                           {code: fault.BadChannel},
		"channel=books.1":                        {code: fault.EntityNotFound},
		"channel=Book":                           {code: fault.EntityNotFound},
		"channel=book%201":                       {code: fault.EntityNotFound},
		"channel=" + strings.Repeat("a.", 40000): {code: fault.EntityNotFound},
	}
	for query, c := range cases {
		got, err := ChannelOf(query, exists)
		if f, ok := fault.Of(err); got != c.want || (c.code == "") != (err == nil) || (ok && f.Code != c.code) {
			t.Errorf("%.60s: got %+v, %v; want %+v %s", query, got, err, c.want, c.code)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("%.60s: the refusal has %d bytes", query, len(err.Error()))
		}
	}
}

func FuzzChannelOf(f *testing.F) {
	for _, text := range []string{"channel=note.tag.7", "channel=.", "channel=a%2Eb", "channel=note.&channel=x", "channel=note..%00", "a;channel=note"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, query string) {
		c, err := ChannelOf(query, func(name string) bool { return name == "note" || name == "note.tag" })
		switch {
		case err == nil && c.Entity != "note" && c.Entity != "note.tag":
			t.Errorf("%q: entity %q", query, c.Entity)
		case err == nil && c.Entity == "note" && (c.ID == "tag" || strings.HasPrefix(c.ID, "tag.")):
			t.Errorf("%q: split before the longest name: %+v", query, c)
		case err != nil && !fault.Is(err, fault.BadChannel) && !fault.Is(err, fault.EntityNotFound):
			t.Errorf("%q: %v", query, err)
		}
	})
}

const cards = `
entities:
  - name: card
    fields:
      - {name: id, type: bigint}
      - {name: title, type: string}
      - {name: pin, type: string, mask: {keeplast: 1}}
      - {name: note, type: string}
      - {name: price, type: int}
    access:
      actions: {language: expr, expression: '"clear" in user.roles ? true : ["read"]'}
      read: {language: expr, expression: '"clear" in user.roles ? true : ["title", "pin", "price"]'}
    filter: {fields: [id, title, pin, note]}
    realtime: {subscribablefields: [id, title, pin, note], filterable: true}
  - name: plain
    fields:
      - {name: id, type: string}
`

// grantOn returns what a caller may read of an entity of cards.
func grantOn(t testing.TB, entity string, roles ...string) *access.Grant {
	t.Helper()
	model, refusals := schema.Parse([]schema.Source{{Name: "cards.yaml", Data: []byte(cards)}})
	if len(refusals) > 0 {
		t.Fatal(refusals)
	}
	e, _ := model.Entity(entity)
	policy, refusals := access.Compile(e)
	if len(refusals) > 0 {
		t.Fatal(refusals)
	}
	g, err := policy.Grant(&access.Principal{ID: "ann", Tenant: "t", Roles: roles})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// errorsOf returns "field code" of each field that a fault names.
func errorsOf(err error) (all []string) {
	f, _ := fault.Of(err)
	if f == nil {
		return nil
	}
	for _, e := range f.Errors {
		all = append(all, e.Field+" "+e.Code)
	}
	slices.Sort(all)
	return all
}

// Channels contract, sections 4.1 and 5: what fields, filter and changed may
// name; all that is wrong is told together.
func TestWhatAChannelMayName(t *testing.T) {
	const wrongField = " invalid_field"
	cases := []struct {
		name, query string
		roles       []string
		keeps       string // names, in order
		changed     string
		errors      []string
	}{
		{"all that leaves and is read", "", nil, "id title pin", "", nil},
		{"and for who reads all", "", []string{"clear"}, "id title pin note", "", nil},
		{"some", "fields=title,id", nil, "id title", "", nil},
		{"trimmed, empty ones dropped", "fields=%20title,,pin%20,", nil, "title pin", "", nil},
		{"none", "fields=", nil, "", "", nil},
		{"none, and a comma", "fields=,%20", nil, "", "", nil},
		{"outside subscribablefields", "fields=title,price", nil, "", "", []string{"price" + wrongField}},
		{"not readable and not there answer alike", "fields=note,nope", nil, "", "", []string{"nope" + wrongField, "note" + wrongField}},
		{"in other letter case", "fields=Title", nil, "", "", []string{"Title" + wrongField}},
		{"a filter on what is read as it is", "filter[title][eq]=x", nil, "id title pin", "", nil},
		{"a filter is not narrowed by fields", "fields=id&filter[title][eq]=x", nil, "id", "", nil},
		{"a filter on what is masked", "filter[pin][eq]=1", nil, "", "", []string{"pin" + wrongField}},
		{"a filter on what is not read", "filter[note][isNull]=true", nil, "", "", []string{"note" + wrongField}},
		{"and for who reads all", "filter[note][isNull]=true&filter[pin][eq]=1", []string{"clear"}, "id title pin note", "", nil},
		{"a filter outside subscribablefields", "filter[price][eq]=1", []string{"clear"}, "", "", []string{"price" + wrongField}},
		{"no filter, though it begins so", "filtering=1", nil, "", "", []string{"filter invalid_value"}},
		{"what does not decode", "fields=title&x=%zz", nil, "", "", []string{"filter invalid_value"}},
		{"changed", "changed=title,%20id,", nil, "id title pin", "title id", nil},
		{"changed of what is masked", "changed=pin", nil, "", "", []string{"pin" + wrongField}},
		{"changed of what is not read", "changed=note", nil, "", "", []string{"note" + wrongField}},
		{"changed outside subscribablefields", "changed=price", []string{"clear"}, "", "", []string{"price" + wrongField}},
		{"changed of nothing", "changed=,", nil, "", "", []string{"changed invalid_value"}},
		{"all together", "fields=a&filter[b][eq]=1&changed=c", nil, "", "", []string{"a" + wrongField, "b" + wrongField, "c" + wrongField}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := parseChannelParameters("channel=card&" + c.query)
			if err != nil {
				t.Fatal(err)
			}
			g := grantOn(t, "card", c.roles...)
			l, err := p.listening(g, "channel=card&"+c.query)
			if got := errorsOf(err); !slices.Equal(got, c.errors) || (err != nil && !fault.Is(err, fault.InvalidQuery)) {
				t.Fatalf("errors %q, want %q: %v", got, c.errors, err)
			}
			if err != nil {
				return
			}
			var keeps, changed []string
			for i, f := range g.Policy.Entity.Fields {
				if l.Keep(i) {
					keeps = append(keeps, f.Name)
				}
			}
			for _, i := range l.Changed {
				changed = append(changed, g.Policy.Entity.Fields[i].Name)
			}
			if got := strings.Join(keeps, " "); got != c.keeps {
				t.Errorf("keeps %q, want %q", got, c.keeps)
			}
			if got := strings.Join(changed, " "); got != c.changed {
				t.Errorf("changed %q, want %q", got, c.changed)
			}
			if (l.Filter != nil) != strings.Contains(c.query, "filter") {
				t.Errorf("filter %v for %q", l.Filter, c.query)
			}
		})
	}
}

// Channels contract, section 4.1: filtering is opt-in, and never silently off.
func TestAFilterWhereThereIsNone(t *testing.T) {
	g := grantOn(t, "plain")
	for _, query := range []string{"filter[id][eq]=x", "filter={}", "filter", "filterid=1", "filter[nope][eq]=1"} {
		p, err := parseChannelParameters(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.listening(g, query)
		if got := errorsOf(err); !slices.Equal(got, []string{"filter invalid_value"}) || !strings.Contains(err.Error(), "plain") {
			t.Errorf("%s: got %v", query, err)
		}
	}
}

// The other parameters are a stream's own, with the same ranges and codes.
func TestChannelParameters(t *testing.T) {
	for query, code := range map[string]fault.Code{
		"channel=x&heartbeat=1s&lifetime=4h&leave=true&lastEventId=x&fields=a&changed=b&filter[c][eq]=1": "",
		"heartbeat=999ms":       fault.BadHeartbeat,
		"lifetime=5h":           fault.BadLifetime,
		"leave=1":               fault.BadParameter,
		"fields=a&fields=b":     fault.BadParameter,
		"changed=a&changed=a":   fault.BadParameter,
		"leave=true&leave=true": fault.BadParameter,
		"ops=create":            fault.BadParameter,
		"name=x":                fault.BadParameter,
		"field=a":               fault.BadParameter,
	} {
		_, err := parseChannelParameters(query)
		if f, ok := fault.Of(err); (code == "") != (err == nil) || (ok && f.Code != code) {
			t.Errorf("%q: got %v, want code %q", query, err, code)
		}
	}
}

// An id is what the log writes for it; one that no row can have is refused.
func TestSubject(t *testing.T) {
	e := grantOn(t, "card").Policy.Entity
	for id, want := range map[string]string{"": "", "7": "7", "-7": "-7", "7.0": "7"} {
		if got, err := subject(e, id); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", id, got, err, want)
		}
	}
	for _, id := range []string{"x", "7.5", " 7", "99999999999999999999"} {
		if _, err := subject(e, id); !fault.Is(err, fault.BadChannel) {
			t.Errorf("%q: got %v, want bad_channel", id, err)
		}
	}
	ids := schematest.Entity(t, "entities:\n  - name: u\n    fields: [{name: id, type: uuid}]\n")
	if got, err := subject(ids, "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"); err == nil && got != "6ba7b810-9dad-11d1-80b4-00c04fd430c8" {
		t.Errorf("got %q, want the id as the log writes it", got)
	}
}

// FuzzFields holds fields to names that may leave, or a refusal of each other.
func FuzzFields(f *testing.F) {
	for _, text := range []string{"", "title,id", " title ,,", "nope", "pin,\u00a0title", strings.Repeat("x,", 300), strings.Repeat("é", 100)} {
		f.Add(text)
	}
	g := grantOn(f, "card")
	e := g.Policy.Entity
	f.Fuzz(func(t *testing.T, text string) {
		named, faults := fieldsOf(e, text, func(i int) bool { return e.Realtime.Subscribes(i) && g.Reads(i) })
		for _, i := range named {
			if !g.Reads(i) || !e.Realtime.Subscribes(i) || !strings.Contains(text, e.Fields[i].Name) {
				t.Errorf("%q names %s", text, e.Fields[i].Name)
			}
		}
		if len(faults) > maxFaults || len(named)+len(faults) > strings.Count(text, ",")+1 {
			t.Errorf("%q: %d named, %d faults", text, len(named), len(faults))
		}
		for _, wrong := range faults {
			if len(wrong.Field) > clip+len("…") || wrong.Field == "" {
				t.Errorf("%q: fault names %q", text, wrong.Field)
			}
		}
	})
}
