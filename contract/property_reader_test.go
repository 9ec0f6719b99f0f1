package contract

import (
	"net/url"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/rowcast/rowcast/internal/servertest"
)

// reads holds a reader's GET and list to what it may read.
func (p *played) reads(t *rapid.T, i int, subject string, row *life) {
	c, r := p.callers[i], readers[i]
	got := c.Get("/data/thing/" + url.PathEscape(subject))
	list := c.Get("/data/thing?filter[id][eq]=" + url.QueryEscape(subject))
	p.heard[i].WriteString(got.Body + list.Body)
	is(t, list, 200)
	items := "[]"
	if p.sees(r, row.state) {
		is(t, got, 200)
		want := object(p.shown(r, row.whole))
		if got.Body != want {
			t.Fatalf("%s reads %s\nwant %s", r.sub, got.Body, want)
		}
		items = "[" + want + "]"
		p.admit(i, row)
	} else {
		is(t, got, 404)
	}
	if !strings.HasPrefix(list.Body, `{"items":`+items+`,"limit"`) {
		t.Fatalf("%s lists %s\nwant %s", r.sub, list.Body, items)
	}
}

// admit notes which tokens the reader has rightly read.
func (p *played) admit(i int, row *life) {
	for f, m := range p.fields {
		if _, plain := p.reading(readers[i], m); !plain {
			continue
		}
		for secret, known := range row.secrets {
			token, _, _ := strings.Cut(secret, " ")
			known[i] = known[i] || strings.Contains(row.whole[f].raw, token)
		}
	}
}

// telling is what a reader is told of a change: data is "" where none goes along.
type telling struct{ event, data string }

// told is what a reader is told of a change, of a row that is now as it is; nil is nothing.
func (p *played) told(i int, h happening, row *life) *telling {
	r := readers[i]
	switch {
	case h.op == "mark":
		return &telling{"entity.create", markOf(h)}
	case !slices.Contains(p.operations, h.op) || h.untold:
		return nil
	case h.op == "delete" && h.before[i]:
		return &telling{event: "entity.delete"}
	case h.op == "delete":
		return nil
	case h.after[i] && p.sees(r, row.state):
		return &telling{"entity." + h.op, object(p.kept(p.shown(r, row.whole)))}
	case !h.after[i] && h.before[i] && h.op == "update":
		return &telling{event: "entity.leave"}
	}
	return nil
}

func (p *played) check(t rapid.TB, i int, f servertest.Frame, h happening, want telling) {
	p.heard[i].WriteString(f.Raw)
	if f.Subject() != h.subject || f.Event != want.event || f.Row() != want.data || strings.Count(f.Raw, "\n") != 3 {
		t.Fatalf("%s is told %s\nwant %s of %q with %s", readers[i].sub, f.Raw, want.event, h.subject, want.data)
	}
}

// probe makes the server refuse a reader something about the row.
func (p *played) probe(t *rapid.T, subject string) {
	i := rapid.IntRange(1, len(readers)-1).Draw(t, "prober")
	f := rapid.SampledFrom(p.fields).Draw(t, "probed")
	c, path := p.callers[i], "/data/thing/"+url.PathEscape(subject)
	for _, a := range []*servertest.Answer{
		c.Patch(path, `{"nosuch":1,"`+f.name+`":{"x":[1]}}`), c.Put(path, `{"nosuch":1,"`+f.name+`":[true]}`),
		c.With("If-Match", `"x"`).Patch(path, `{}`), c.With("If-None-Match", "*").Patch(path, `{}`), c.With("If-Match", `"x"`).Delete(path),
		c.Get("/data/thing?sort=" + f.name + "&filter[nosuch][eq]=1"), c.Get("/data/thing?fields=nosuch," + f.name), c.Patch("/data/thing?filter["+f.name+"][nosuch]=1", `{}`),
		c.Delete(path + "/purge"), c.Patch(path+"/restore", ""), c.Get(path + "/nosuch"), c.Get("/subscribe/thing?name=" + f.name),
	} {
		p.heard[i].WriteString(a.Body)
		if a.Status < 400 || a.Status >= 500 {
			t.Fatalf("a probe of %s is answered %d %s", readers[i].sub, a.Status, a.Body)
		}
	}
}

// conceals holds all that a reader heard to what it was entitled to.
func (p *played) conceals(t *rapid.T, row *life) {
	for i, r := range readers {
		heard := p.heard[i].String()
		for secret, known := range row.secrets {
			if token, name, _ := strings.Cut(secret, " "); !known[i] && strings.Contains(heard, token) {
				t.Fatalf("%s was shown a value of %s: %s in %s", r.sub, name, token, heard)
			}
		}
	}
}

// replay holds the log to the same: of each change, who resumes is told the row
// as it is now, and only what it may read now and could read then. Beyond what
// was wanted nobody is told anything, live or replayed.
func (p *played) replay() {
	all := slices.Concat(p.streams, p.channels)
	for i, c := range p.callers {
		again, channel := c.Resume("/subscribe/thing?leave=true", p.since[0]), c.Resume(p.opened[i].query(), p.since[1])
		all = append(all, again, channel)
		for _, h := range p.log {
			if want := p.told(i, h, p.rows[h.subject]); want != nil {
				p.check(p.t, i, again.Frame(), h, *want)
			}
			if want := p.toldOnChannel(i, h, p.rows[h.subject]); want != nil {
				p.hears(p.t, i, channel.Frame(), h, *want)
			}
		}
	}
	p.server.Stop()
	for _, s := range all {
		for _, b := range s.End() {
			if b.Event != "" {
				p.t.Errorf("a reader is also told %s", b.Raw)
			}
		}
	}
}
