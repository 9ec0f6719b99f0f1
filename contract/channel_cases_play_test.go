package contract

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowcast/rowcast/internal/servertest"
)

// expectedFrame is a frame, and the step that causes it.
type expectedFrame struct {
	Event, Entity, ID, Channel string
	Item                       json.RawMessage
	Changed                    *[]string
	Keys                       []string
	Reason                     string
	Step                       int
}

// playing is a case of streams and steps.
type playing struct {
	all     *channelCases
	t       *testing.T
	s       *servertest.Server
	expect  map[string][]expectedFrame
	names   []string            // of streams, in the order of their opening
	streams map[string]*watched // by name
	ids     map[string]string   // by the name under which a step saves one
	told    map[string]string   // occurredAt, by frame id
	*witnesses
}

// watched is a stream of the case.
type watched struct {
	*servertest.Stream
	opening
	entity, row string
	frames      []string // ids, as they came
}

// plays runs a case of streams and steps, and holds every stream to what is
// expected of it, and to nothing else.
func (all *channelCases) plays(s *servertest.Server, t *testing.T, c channelLine) {
	p := &playing{all: all, t: t, s: s, streams: map[string]*watched{}, ids: map[string]string{}, told: map[string]string{}}
	if err := json.Unmarshal(c.Expect, &p.expect); err != nil {
		t.Fatal(err)
	}
	staff := all.caller(s, "staff", nil)
	for _, g := range c.Given {
		staff.Post("/data/"+g.Entity, string(g.Row)).Is(201)
	}
	p.witnesses = p.witness(c)
	for name, o := range c.Streams {
		p.open(name, o)
	}
	for i, step := range c.Do {
		p.take(step)
		for name := range p.expect {
			p.awaits(name, i+1)
		}
	}
	for name := range p.expect {
		if p.streams[name] == nil {
			t.Errorf("stream %s of expect is never opened", name)
		}
	}
	p.nothingElse()
	p.clear()
}

func (p *playing) open(name string, o opening) {
	query, err := url.ParseQuery(o.Query)
	if err != nil {
		p.t.Fatal(err)
	}
	w := &watched{opening: o, Stream: p.all.caller(p.s, o.As, o.Headers).Open("/realtime?" + o.Query)}
	w.entity, w.row = p.channel(query.Get("channel"))
	p.names, p.streams[name] = append(p.names, name), w
	if _, expected := p.expect[name]; !expected {
		p.t.Fatalf("nothing is said of stream %s", name)
	}
}

// channel takes a channel apart; of a case with a schema of its own it is the entity.
func (p *playing) channel(text string) (entity, row string) {
	for name := range p.all.entities {
		if rest, ok := strings.CutPrefix(text, name); ok && (rest == "" || rest[0] == '.') && len(name) > len(entity) {
			entity = name
		}
	}
	if entity == "" {
		return text, ""
	}
	return entity, strings.TrimPrefix(strings.TrimPrefix(text, entity), ".")
}

func (p *playing) take(step caseStep) {
	switch {
	case step.Close != "":
		p.hangsUp(step.Close)
	case step.Open != "":
		o := opening{As: step.As, Query: step.Query, Headers: step.Headers}
		if step.After != "" {
			last := p.streams[step.After].LastID()
			o.Headers = map[string]*string{"Last-Event-ID": &last}
		}
		p.open(step.Open, o)
	default:
		a := p.all.caller(p.s, step.As, step.Headers).Do(step.Method, p.fill(step.Path), p.fill(string(step.Body)))
		if class := fmt.Sprintf("%dxx", a.Status/100); step.Status == nil && class != "2xx" ||
			step.Status != nil && step.Status != "any" && fmt.Sprint(step.Status) != fmt.Sprint(a.Status) && step.Status != class {
			p.t.Fatalf("%s %s: %d %s, want %v", step.Method, step.Path, a.Status, a.Body, step.Status)
		}
		if step.Save != "" {
			p.ids["$"+step.Save] = a.ID()
		}
	}
}

// fill puts in what steps have saved.
func (p *playing) fill(text string) string {
	for name, id := range p.ids {
		text = strings.ReplaceAll(text, name, id)
	}
	return text
}

// awaits reads the frames that a step causes on a stream, in whatever order.
func (p *playing) awaits(name string, step int) {
	var due []expectedFrame
	for _, want := range p.expect[name] {
		if want.Step == step {
			due = append(due, want)
		}
	}
	w := p.streams[name]
	for len(due) > 0 {
		f := w.Frame()
		w.frames = append(w.frames, f.ID)
		at := slices.IndexFunc(due, func(want expectedFrame) bool {
			return f.Event == want.Event && (want.ID == "" || f.JSON()["id"] == p.fill(want.ID))
		})
		if at < 0 {
			p.t.Fatalf("step %d: %s is told\n%s, want %+v", step, name, f.Raw, due)
		}
		p.holds(w, f, due[at])
		due = slices.Delete(due, at, at+1)
	}
}

// holds compares a frame with what is expected, key by key and in their order.
func (p *playing) holds(w *watched, f servertest.Frame, want expectedFrame) {
	if want.Event == "stream.gap" {
		if got := f.JSON()["reason"]; got != want.Reason {
			p.t.Errorf("reason %v, want %s", got, want.Reason)
		}
		return
	}
	ms, err := members(f.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	got, keys := map[string]string{}, []string(nil)
	for _, m := range ms {
		got[m.name], keys = m.raw, append(keys, m.name)
	}
	for name, text := range map[string]string{"event": want.Event, "entity": want.Entity, "id": p.fill(want.ID), "channel": p.fill(want.Channel)} {
		if got[name] != quoted(text) {
			p.t.Errorf("%s: %s, want %q in %s", name, got[name], text, f.Raw)
		}
	}
	if want.Keys != nil && !slices.Equal(keys, want.Keys) {
		p.t.Errorf("keys %v, want %v", keys, want.Keys)
	}
	p.holdsItem(w, got["item"], want)
	p.holdsChanged(got["changed"], want)
	if at, known := p.told[f.ID]; known && at != got["occurredAt"] {
		p.t.Errorf("one event, two times: %s and %s", at, got["occurredAt"])
	}
	p.told[f.ID] = got["occurredAt"]
}

func (p *playing) holdsItem(w *watched, got string, want expectedFrame) {
	switch {
	case string(want.Item) == `"$read"`:
		id := url.PathEscape(p.fill(want.ID))
		if read := p.all.caller(p.s, w.As, nil).Get("/data/" + want.Entity + "/" + id).Is(200).Body; got != read {
			p.t.Errorf("item %s\n read %s", got, read)
		}
	case got == "": // for left, null stands for null or absent
		if want.Event != "left" {
			p.t.Errorf("no item, want %s", want.Item)
		}
	default:
		if diff := cmp.Diff(decodeExact(p.t, p.fill(string(want.Item))), decodeExact(p.t, got)); diff != "" {
			p.t.Errorf("item:\n%s", diff)
		}
	}
}

func (p *playing) holdsChanged(got string, want expectedFrame) {
	if want.Changed == nil {
		if got != "" {
			p.t.Errorf("changed %s, want none", got)
		}
		return
	}
	var names []string
	if err := json.Unmarshal([]byte(got), &names); err != nil {
		p.t.Fatalf("changed %q: %v", got, err)
	}
	sent := slices.Clone(*want.Changed)
	slices.Sort(sent)
	slices.Sort(names)
	if !slices.Equal(names, sent) {
		p.t.Errorf("changed %v, want %v", names, sent)
	}
}

// hangsUp closes a stream; what had come by then was expected.
func (p *playing) hangsUp(name string) {
	w := p.streams[name]
	p.names = slices.DeleteFunc(p.names, func(n string) bool { return n == name })
	w.Close()
	for _, b := range w.End() {
		if b.Event != "" {
			p.t.Errorf("%s is also told %s", name, b.Raw)
		}
	}
}

func quoted(text string) string {
	q, _ := json.Marshal(text)
	return string(q)
}
