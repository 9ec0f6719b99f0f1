package contract

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/internal/servertest"
)

// witnesses are streams of whole entities, opened by who may see all: what they
// tell is all that there is to tell.
type witnesses struct {
	of    map[string]*servertest.Stream // by entity
	after map[string]bool               // ids of the frames of the end
}

func (p *playing) witness(c channelLine) *witnesses {
	all := &witnesses{of: map[string]*servertest.Stream{}, after: map[string]bool{}}
	watch := func(query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			p.t.Fatal(err)
		}
		if entity, _ := p.channel(values.Get("channel")); all.of[entity] == nil {
			all.of[entity] = p.staff().Open("/realtime?channel=" + entity)
		}
	}
	for _, o := range c.Streams {
		watch(o.Query)
	}
	for _, step := range c.Do {
		if step.Open != "" {
			watch(step.Query)
		}
	}
	return all
}

func (p *playing) staff() *servertest.Caller { return p.all.caller(p.s, "staff", nil) }

// nothingElse proves that no stream was told more than was expected: for each, a
// row is made and removed that it must be told of, and nothing comes before that.
func (p *playing) nothingElse() {
	for entity := range p.of {
		last := p.end(entity, "the end of "+entity, "sue")
		for {
			f := p.of[entity].Frame()
			if at, known := p.told[f.ID]; known && at != quoted(f.JSON()["occurredAt"].(string)) {
				p.t.Errorf("others were told %s of %s", at, f.Raw)
			}
			if f.JSON()["id"] == "the end of "+entity {
				p.after[f.ID] = true
			}
			if f.JSON()["id"] == "the end of "+entity && f.Event == last {
				break
			}
		}
	}
	for _, name := range p.names {
		p.endsHere(name)
	}
}

// endsHere reads a stream to its end.
func (p *playing) endsHere(name string) {
	w := p.streams[name]
	row := w.row
	if row == "" {
		row = "the end of " + name
	}
	last := p.end(w.entity, row, p.all.principals[w.As].Sub)
	var id string
	for id == "" {
		f := p.of[w.entity].Frame()
		p.after[f.ID] = true
		if f.JSON()["id"] == row && f.Event == last {
			id = f.ID
		}
	}
	for f := w.Frame(); f.ID != id; f = w.Frame() {
		if !p.after[f.ID] {
			p.t.Errorf("%s is also told %s", name, f.Raw)
		}
	}
	if !slices.IsSorted(w.frames) && !strings.HasPrefix(w.frames[0], "~") {
		p.t.Errorf("one wrote after the other, and the ids on %s do not grow: %v", name, w.frames)
	}
}

// end makes a row and removes it, or the other way round where a channel does not
// tell of removals, and returns the event that comes last.
func (p *playing) end(entity, row, owner string) (last string) {
	staff, path := p.staff(), "/data/"+entity+"/"+url.PathEscape(row)
	there := staff.Get(path).Status == 200
	if p.mutesDeletes(entity) {
		if there {
			staff.Delete(path).Is(204)
		}
		staff.Post("/data/"+entity, p.body(entity, row, owner)).Is(201)
		return "created"
	}
	switch {
	case !there && staff.Post("/data/"+entity, p.body(entity, row, owner)).Status == 409: // it is deleted, and not gone
		staff.Patch(path+"/restore", "").Is(200)
	case there && p.owned(entity):
		staff.Patch(path, `{"owner_id":`+quoted(owner)+`}`).Is(200)
	}
	staff.Delete(path).Is(204)
	return "deleted"
}

// body is a row of the entity: what is required, and its owner.
func (p *playing) body(entity, row, owner string) string {
	ms := []member{{"id", quoted(row)}}
	known := p.all.entities[entity]
	if known == nil { // of a case's own schema
		return object(append(ms, member{"title", `"the end"`}))
	}
	for _, f := range known.Fields {
		if len(f.Validations) > 0 {
			ms = append(ms, member{f.Name, `"the end"`})
		}
	}
	if p.owned(entity) {
		ms = append(ms, member{"owner_id", quoted(owner)})
	}
	return object(ms)
}

func (p *playing) owned(entity string) bool {
	e := p.all.entities[entity]
	return e != nil && slices.ContainsFunc(e.Fields, func(f caseField) bool { return f.Name == "owner_id" })
}

func (p *playing) mutesDeletes(entity string) bool {
	e := p.all.entities[entity]
	if e == nil {
		return false
	}
	var realtime struct{ Events map[string]bool }
	if err := json.Unmarshal(e.Realtime, &realtime); err != nil {
		p.t.Fatal(err)
	}
	told, said := realtime.Events["deleted"]
	return said && !told
}

// clear removes all rows of the entities, for the next case.
func (p *playing) clear() {
	for entity := range p.of {
		path := "/data/" + entity
		for _, row := range p.rows(path + "?limit=100") {
			p.staff().Delete(path + "/" + row).Is(204)
		}
		if p.staff().Get(path+"?deleted=true").Status == 200 {
			for _, row := range p.rows(path + "?limit=100&deleted=true") {
				p.staff().Delete(path + "/" + row + "/purge").Is(204)
			}
		}
	}
}

// rows lists ids, as they stand in a URL.
func (p *playing) rows(path string) (ids []string) {
	items, _ := p.staff().Get(path).Is(200).JSON()["items"].([]any)
	for _, item := range items {
		row, _ := item.(map[string]any)
		ids = append(ids, url.PathEscape(fmt.Sprint(row["id"])))
	}
	return ids
}
