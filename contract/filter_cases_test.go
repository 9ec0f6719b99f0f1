package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// filterLine is a line of testdata/cases/filter.jsonl: an entity with its rows,
// or a case.
type filterLine struct {
	Fixture string
	Enums   []json.RawMessage
	Entity  json.RawMessage
	Rows    []json.RawMessage

	ID, Group, Query, Note string
	Tree                   json.RawMessage
	Expect                 filterExpectation
}

type filterExpectation struct {
	Match  []string
	Status int
	Errors []caseError
}

// filterFixture is an entity, and the cases that are about it.
type filterFixture struct {
	name  string
	rows  map[string]string // by id
	order []string
	cases []filterLine
}

// readFilterCases returns the fixtures and their schema. Each entity has one more
// field, that no filter may name, for a many-row write to change.
func readFilterCases(t *testing.T) (fixtures []*filterFixture, schema string) {
	t.Helper()
	var enums, entities []json.RawMessage
	of, count := map[string]*filterFixture{}, 0
	for _, text := range caseLines(t, "filter.jsonl") {
		var l filterLine
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if l.Entity == nil {
			of[l.Fixture].cases = append(of[l.Fixture].cases, l)
			count++
			continue
		}
		f := &filterFixture{name: l.Fixture, rows: map[string]string{}}
		for _, row := range l.Rows {
			var key struct{ ID string }
			if err := json.Unmarshal(row, &key); err != nil {
				t.Fatal(err)
			}
			f.rows[key.ID], f.order = string(row), append(f.order, key.ID)
		}
		of[l.Fixture], fixtures = f, append(fixtures, f)
		touched := bytes.Replace(l.Entity, []byte(`"fields":[`), []byte(`"fields":[{"name":"touched","type":"string"},`), 1)
		enums, entities = append(enums, l.Enums...), append(entities, touched)
	}
	if count != 450 {
		t.Errorf("%d cases; are they all here?", count)
	}
	return fixtures, schemaJSON(t, enums, entities)
}

// Subscribe-time filtering: the grammar is that of REST, one filter language with
// one meaning. Each of the shared cases three times, with the very same rows or
// the very same refusal: as a channel that is opened before the rows are written,
// as a list, and as a write of many rows, by PATCH and by DELETE.
func TestFilterCases(t *testing.T) {
	fixtures, schema := readFilterCases(t)
	s := servertest.Start(t, servertest.Options{Schema: schema, Boot: "limits: {streamsperprincipal: 1000}\n"})
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			ann := s.In(t).User("ann")
			streams := f.listen(t, ann)
			for _, id := range f.order {
				ann.Post("/data/"+f.name, f.rows[id]).Is(201)
			}
			f.told(t, ann, streams)
			for _, c := range f.cases {
				t.Run(c.ID+" "+c.Group, func(t *testing.T) { f.asked(t, s.In(t).User("ann"), c) })
			}
		})
	}
}

// listen opens the channel of each case, or holds its refusal to the case.
func (f *filterFixture) listen(t *testing.T, ann *servertest.Caller) map[string]*servertest.Stream {
	streams := map[string]*servertest.Stream{}
	for _, c := range f.cases {
		stream, refusal := ann.Knock("/realtime?channel=" + f.name + "&" + c.Query)
		switch {
		case (stream != nil) != (c.Expect.Status == 0):
			t.Errorf("%s: the channel: %+v, want %+v", c.ID, refusal, c.Expect)
		case stream != nil:
			streams[c.ID] = stream
		default:
			c.refused(t, "the channel", refusal)
		}
	}
	return streams
}

// told compares the rows that each channel was told of. A row that is removed is
// told whatever the filter: nothing of the others comes after it.
func (f *filterFixture) told(t *testing.T, ann *servertest.Caller, streams map[string]*servertest.Stream) {
	const last = "the end"
	row := strings.Replace(f.rows[f.order[0]], `"`+f.order[0]+`"`, `"`+last+`"`, 1)
	ann.Post("/data/"+f.name, row).Is(201)
	ann.Delete("/data/" + f.name + "/" + url.PathEscape(last)).Is(204)
	for _, c := range f.cases {
		stream := streams[c.ID]
		if stream == nil {
			continue
		}
		var got []string
		for frame := stream.Frame(); frame.Event != "deleted"; frame = stream.Frame() {
			if id := fmt.Sprint(frame.JSON()["id"]); id != last {
				got = append(got, frame.Event+" "+id)
			}
		}
		var want []string
		for _, id := range f.order {
			if slices.Contains(c.Expect.Match, id) {
				want = append(want, "created "+id)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the channel of %s is told %v, want %v", c.ID, c.Query, got, want)
		}
		stream.Close()
	}
}

// asked runs a case as a list and as writes of many rows.
func (f *filterFixture) asked(t *testing.T, ann *servertest.Caller, c filterLine) {
	path := "/data/" + f.name + "?" + c.Query
	if c.Expect.Status != 0 {
		c.refused(t, "the list", ann.Get(path))
		c.refused(t, "PATCH", ann.Patch(path, `{"touched":"x"}`))
		c.refused(t, "DELETE", ann.Delete(path))
		return
	}
	want := slices.Sorted(slices.Values(c.Expect.Match))
	if got := f.list(ann, c.Query, func(map[string]any) bool { return true }); !slices.Equal(got, want) {
		t.Errorf("the list has %v, want %v", got, want)
	}
	if c.Query == "" { // a write of many rows must say which
		for _, a := range []*servertest.Answer{ann.Patch(path, `{"touched":"x"}`), ann.Delete(path)} {
			filterLine{Expect: filterExpectation{Status: 400, Errors: []caseError{{"filter", "invalid_value"}}}}.refused(t, "a write", a)
		}
		return
	}
	f.writes(t, ann, c, want)
}

// writes changes the rows of a case, removes them, and puts them back.
func (f *filterFixture) writes(t *testing.T, ann *servertest.Caller, c filterLine, want []string) {
	path, counted := "/data/"+f.name+"?"+c.Query, fmt.Sprintf(`{"changed":%d}`, len(want))
	if got := ann.Patch(path, `{"touched":"`+c.ID+`"}`).Is(200).Body; got != counted {
		t.Errorf("PATCH answers %s, want %s", got, counted)
	}
	if got := f.list(ann, "", func(row map[string]any) bool { return row["touched"] == c.ID }); !slices.Equal(got, want) {
		t.Errorf("PATCH changed %v, want %v", got, want)
	}
	if got := ann.Delete(path).Is(200).Body; got != counted {
		t.Errorf("DELETE answers %s, want %s", got, counted)
	}
	left := f.list(ann, "", func(map[string]any) bool { return true })
	for _, id := range f.order {
		if slices.Contains(left, id) == slices.Contains(want, id) {
			t.Errorf("DELETE left %v, want all but %v", left, want)
			break
		}
	}
	var gone []string
	for _, id := range f.order {
		if !slices.Contains(left, id) {
			gone = append(gone, f.rows[id])
		}
	}
	if gone != nil {
		ann.Post("/data/"+f.name+"/bulk", "["+strings.Join(gone, ",")+"]").Is(201)
	}
}

// list returns the ids of the rows in a list, sorted, that are to be kept.
func (f *filterFixture) list(ann *servertest.Caller, query string, keep func(row map[string]any) bool) (ids []string) {
	items, _ := ann.Get("/data/" + f.name + "?limit=100&fields=id,touched&" + query).Is(200).JSON()["items"].([]any)
	for _, item := range items {
		if row, _ := item.(map[string]any); keep(row) {
			ids = append(ids, fmt.Sprint(row["id"]))
		}
	}
	slices.Sort(ids)
	return ids
}

// refused holds a refusal to the case: each of its errors, and no other.
func (c filterLine) refused(t *testing.T, what string, a *servertest.Answer) {
	t.Helper()
	if p := a.Problem(c.Expect.Status, "invalid_query"); !sameErrors(p, c.Expect.Errors) {
		t.Errorf("%s: %s: errors %v, want %v", c.ID, what, p.Errors, c.Expect.Errors)
	}
}
