package contract

import (
	"encoding/json"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/rowcast/rowcast/internal/servertest"
)

// channelling is what a random schema says of channels, and how each reader opens
// one; worked out here, as the rest of the world is.
type channelling struct {
	only   []string // subscribablefields; nil: all but the others
	but    []string
	muted  string // a word that is not told
	opened []opened
}

// opened is one reader's channel.
type opened struct {
	fields  []string // nil: all that leave
	changed string   // a field that rules name; "": every update
	filter  *sieve
}

// sieve is a filter, and when it is true.
type sieve struct {
	field, query string
	holds        func(s state) bool
}

var sieves = []sieve{
	{"n", "filter[n][gt]=5", func(s state) bool { n, ok := s["n"].(int); return ok && n > 5 }},
	{"n", "filter[not][n][in]=1,7", func(s state) bool { n, ok := s["n"].(int); return ok && n != 1 && n != 7 }},
	{"open", "filter[open][eq]=true", func(s state) bool { return s["open"] == true }},
	{"open", "filter[open][isNull]=true", func(s state) bool { return s["open"] == nil }},
	{"team", "filter[team][ne]=red", func(s state) bool { return s["team"] != nil && s["team"] != "red" }},
	{"owner", "filter[owner][ilike]=A%25&filter[not][owner][eq]=ann", func(s state) bool {
		o, ok := s["owner"].(string)
		return ok && strings.HasPrefix(strings.ToLower(o), "a") && o != "ann"
	}},
	{"owner", "filter[or][0][owner][isNull]=true&filter[or][1][owner][gte]=b", func(s state) bool {
		o, ok := s["owner"].(string)
		return s["owner"] == nil || ok && o >= "b"
	}},
}

func (w *world) drawChannels(t *rapid.T) {
	c := channelling{muted: rapid.SampledFrom([]string{"", "updated", "patched", "deleted", "restored"}).Draw(t, "muted")}
	switch rapid.IntRange(0, 2).Draw(t, "subscribablefields") {
	case 0:
		c.only = append(w.some(t, "subscribable"), "n")
		slices.Sort(c.only)
		c.only = slices.Compact(c.only)
	case 1:
		c.but = slices.DeleteFunc(w.some(t, "not subscribable"), func(name string) bool { return name == "n" })
	}
	w.channelling = c
	for _, r := range readers {
		o := opened{}
		if r.role != "root" { // whose channel shows all there is
			may := func(name string) bool {
				_, plain := w.reading(r, w.field(name))
				return plain && w.leaves(name)
			}
			if f := rapid.SampledFrom(sieves).Draw(t, "filter"); may(f.field) && rapid.Bool().Draw(t, "filtered") {
				o.filter = &f
			}
			if name := rapid.SampledFrom([]string{"", "n", "team"}).Draw(t, "changed"); name != "" && may(name) {
				o.changed = name
			}
			if rapid.IntRange(0, 2).Draw(t, "narrowed") == 0 {
				o.fields = slices.DeleteFunc(w.some(t, "narrowed to"), func(name string) bool {
					reads, _ := w.reading(r, w.field(name))
					return !reads || !w.leaves(name)
				})
			}
		}
		w.opened = append(w.opened, o)
	}
}

func (w *world) field(name string) field {
	return w.fields[slices.IndexFunc(w.fields, func(f field) bool { return f.name == name })]
}

// leaves reports whether a channel shows the field to anybody.
func (c *channelling) leaves(name string) bool {
	return (c.only == nil || slices.Contains(c.only, name)) && !slices.Contains(c.but, name)
}

// realtime writes the channels down.
func (c *channelling) realtime() string {
	text := "    realtime: {filterable: true"
	if c.only != nil {
		text += ", subscribablefields: [" + strings.Join(c.only, ", ") + "]"
	}
	if len(c.but) > 0 {
		text += ", subscribablefields: {exclude: [" + strings.Join(c.but, ", ") + "]}"
	}
	if c.muted != "" {
		text += ", events: {" + c.muted + ": false}"
	}
	return text + "}\n"
}

func (o opened) query() string {
	q := "/realtime?channel=thing&leave=true"
	if o.fields != nil {
		q += "&fields=" + strings.Join(o.fields, ",")
	}
	if o.changed != "" {
		q += "&changed=" + o.changed
	}
	if o.filter != nil {
		q += "&" + o.filter.query
	}
	return q
}

func (o opened) passes(s state) bool { return o.filter == nil || s != nil && o.filter.holds(s) }

// channelTelling is what a reader is told on its channel.
type channelTelling struct {
	word, item string
	changed    *string
}

// toldOnChannel is what a reader is told on its channel of a change, of a row that
// is now as it is; nil is nothing.
func (p *played) toldOnChannel(i int, h happening, row *life) *channelTelling {
	r, o := readers[i], p.opened[i]
	if h.op == "mark" || h.word == p.muted {
		return nil
	}
	if h.word == "deleted" {
		if h.before[i] && !h.untold {
			return &channelTelling{word: "deleted", item: "null"}
		}
		return nil
	}
	was, is := h.before[i] && o.passes(h.was), h.after[i] && o.passes(h.is)
	updates := h.word == "updated" || h.word == "patched"
	switch {
	case is && updates && o.changed != "" && h.was[o.changed] == h.is[o.changed]:
		return nil
	case is && p.sees(r, row.state) && o.passes(row.state):
		told := &channelTelling{word: h.word, item: object(p.onChannel(o, p.shown(r, row.whole)))}
		if updates {
			names := []string{}
			for _, m := range p.onChannel(o, h.sent) {
				if reads, _ := p.reading(r, p.field(m.name)); reads {
					names = append(names, m.name)
				}
			}
			text, _ := json.Marshal(names)
			all := string(text)
			told.changed = &all
		}
		return told
	case was && !is:
		return &channelTelling{word: "left", item: "null"}
	}
	return nil
}

// onChannel is what a channel keeps of what a GET shows.
func (p *played) onChannel(o opened, ms []member) []member {
	return slices.DeleteFunc(slices.Clone(ms), func(m member) bool {
		return !p.leaves(m.name) || o.fields != nil && !slices.Contains(o.fields, m.name)
	})
}

// hears holds the next frame of a reader's channel to what it must be.
func (p *played) hears(t rapid.TB, i int, f servertest.Frame, h happening, want channelTelling) {
	p.heard[i].WriteString(f.Raw)
	ms, err := members(f.Data)
	if err != nil || len(ms) < 6 {
		t.Fatalf("%s is told %s: %v", readers[i].sub, f.Raw, err)
	}
	doc := f.JSON()
	keys := []string{"event", "entity", "id", "channel", "occurredAt", "item"}
	if want.changed != nil {
		keys = append(keys, "changed")
	}
	names := make([]string, len(ms))
	for n, m := range ms {
		names[n] = m.name
	}
	if !slices.Equal(names, keys) || f.Event != want.word || doc["event"] != want.word || doc["id"] != h.subject || doc["channel"] != "thing."+h.subject || ms[5].raw != want.item ||
		want.changed != nil && ms[6].raw != *want.changed {
		t.Fatalf("on %s, %s is told %s\nwant %s of %q with %s", p.opened[i].query(), readers[i].sub, f.Raw, want.word, h.subject, want.item)
	}
}
