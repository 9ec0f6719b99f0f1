package contract

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"pgregory.net/rapid"

	"github.com/rowcast/rowcast/internal/servertest"
)

// played is a world that is served, with a stream open for every reader.
type played struct {
	*world
	t        *testing.T
	server   *servertest.Server
	callers  []*servertest.Caller
	streams  []*servertest.Stream
	channels []*servertest.Stream
	heard    []*strings.Builder // by reader: all that it was answered and told in this life
	since    [2]string          // root's ids of the first event, on stream and channel: a replay begins after it
	log      []happening        // what happened after it
	rows     map[string]*life   // by subject
	n        int
	dirty    bool // a life ended in the middle: streams are not where they should be
}

// happening is one published change, and which readers saw the row around it.
type happening struct {
	subject, op   string
	before, after []bool
	untold        bool // a removal that nobody who is ruled is told

	word    string // what a channel calls it
	was, is state
	sent    []member
}

// life is one row from its creation to its end.
type life struct {
	state   state
	whole   []member // as root reads it; nil: it cannot be read
	secrets map[string][]bool
}

// What a subscriber gets: data in a frame is byte for byte what GET answers,
// less the members that include and exclude drop; a row that cannot be read
// produces no frame, and neither live nor replayed, in a list or in a refusal,
// does a value show that the reader may not read. Over random schemas; a
// reader's sight is worked out here, without the server's code.
//
// CONTRACT_WORLDS says how many schemas are tried, -rapid.checks how many rows
// live and die in each.
func TestFramesShowWhatReadersRead(t *testing.T) {
	worlds := 8
	if text := os.Getenv("CONTRACT_WORLDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("CONTRACT_WORLDS: %v", err)
		}
		worlds = n
	} else if testing.Short() {
		worlds = 3
	}
	for seed := range worlds {
		t.Run(fmt.Sprintf("world %d", seed), func(t *testing.T) {
			p := play(t, worldGen.Example(seed))
			rapid.Check(t, p.live)
			p.replay()
		})
	}
}

func play(t *testing.T, w *world) *played {
	t.Helper()
	p := &played{world: w, t: t, rows: map[string]*life{}}
	p.server = servertest.Start(t, servertest.Options{Schema: w.schema()})
	for _, r := range readers {
		claims := jwt.MapClaims{"sub": r.sub, "tenant": servertest.Tenant, "exp": time.Now().Add(time.Hour).Unix()}
		if r.role != "" {
			claims["roles"] = []string{r.role}
		}
		if r.team != "" {
			claims["team"] = r.team
		}
		p.callers, p.heard = append(p.callers, p.server.As(p.server.Sign(claims))), append(p.heard, &strings.Builder{})
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the schema:\n%s", w.schema())
		}
	})
	p.open([2]string{})
	p.callers[0].Post("/data/thing", p.body(map[string]string{}, `"first"`)).Is(201)
	p.since = [2]string{p.streams[0].Frame().ID, p.channels[0].Frame().ID}
	p.open(p.since) // the first row is behind everybody
	return p
}

func (p *played) open(since [2]string) {
	for _, s := range slices.Concat(p.streams, p.channels) {
		s.Close()
	}
	p.streams, p.channels = nil, nil
	for i, c := range p.callers {
		on := func(id string) *servertest.Caller {
			if id == "" {
				return c
			}
			return c.With("Last-Event-ID", id)
		}
		p.streams = append(p.streams, on(since[0]).Open("/subscribe/thing?leave=true"))
		p.channels = append(p.channels, on(since[1]).Open(p.opened[i].query()))
	}
}

// live is one row's life, and what each reader is told of it.
func (p *played) live(t *rapid.T) {
	if p.dirty {
		p.open([2]string{}) // a failure is being made smaller
	}
	p.dirty = true
	for _, h := range p.heard {
		h.Reset()
	}
	p.n++
	row := &life{secrets: map[string][]bool{}}
	s, sent := p.draw(t, row)
	var id string
	if p.id == "string" {
		id = fmt.Sprintf("%d %s", p.n, rapid.SampledFrom([]string{"a/b", "..", "%2F", "é🟢", "x'\"", "\n"}).Draw(t, "id"))
	}
	quoted, _ := json.Marshal(id)
	answer := p.callers[0].Post("/data/thing", p.body(sent, string(quoted)))
	if answer.Status != 201 {
		t.Fatalf("POST: %d %s", answer.Status, answer.Body)
	}
	subject := fmt.Sprint(answer.JSON()["id"])
	p.rows[subject] = row
	p.happen(t, subject, "create", row, s, sent)
	for range rapid.IntRange(0, 3).Draw(t, "writes") {
		p.write(t, subject, row)
	}
	p.probe(t, subject)
	p.mark(t)
	p.conceals(t, row)
	p.dirty = false
}

// mark writes what every stream must tell next: of the life that ends here
// nobody was told anything more.
func (p *played) mark(t *rapid.T) {
	h := happening{subject: fmt.Sprintf("mark %d", p.n), op: "mark"}
	is(t, p.callers[0].Post("/data/mark", markOf(h)), 201)
	p.log = append(p.log, h)
	for i := range readers {
		p.check(t, i, p.streams[i].Frame(), h, *p.told(i, h, nil))
	}
}

func markOf(h happening) string { return `{"id":"` + h.subject + `"}` }

// draw makes values for a write of every field, each text marked by a token.
func (p *played) draw(t *rapid.T, row *life) (state, map[string]string) {
	s, sent := drawState(t)
	for _, f := range p.fields {
		if _, named := sent[f.name]; named || !slices.Contains(kinds, f.kind) || f.name == "id" {
			continue
		}
		p.n++
		token := fmt.Sprintf("qz%08dzq", p.n)
		row.secrets[token+" "+f.name] = make([]bool, len(readers))
		sent[f.name] = drawValue(t, f.kind, token)
	}
	return s, sent
}

// body writes a request in the order of the fields.
func (p *played) body(sent map[string]string, id string) string {
	var ms []member
	for _, f := range p.fields {
		if f.name == "id" && p.id == "string" && id != "" {
			ms = append(ms, member{"id", id})
		} else if raw, ok := sent[f.name]; ok {
			ms = append(ms, member{f.name, raw})
		}
	}
	return object(ms)
}

// write changes, removes or restores the row as root.
func (p *played) write(t *rapid.T, subject string, row *life) {
	root, path := p.callers[0], "/data/thing/"+url.PathEscape(subject)
	switch kind := rapid.IntRange(0, 5).Draw(t, "write"); {
	case row.state == nil:
		return
	case row.state["deleted"] == true:
		restored := state{}
		for k, v := range row.state {
			restored[k] = v
		}
		delete(restored, "deleted")
		if kind > 0 {
			is(t, root.Patch(path+"/restore", ""), 200)
			p.happen(t, subject, "restore", row, restored, nil)
			return
		}
		is(t, root.Delete(path+"/purge"), 204)
		p.happen(t, subject, "purge", row, nil, nil)
	case kind == 0 && p.soft:
		deleted := state{"deleted": true}
		for k, v := range row.state {
			deleted[k] = v
		}
		is(t, root.Delete(path), 204)
		p.happen(t, subject, "delete", row, deleted, nil)
	case kind == 0:
		is(t, root.Delete(path), 204)
		p.happen(t, subject, "delete", row, nil, nil)
	case kind == 1:
		is(t, root.Delete(path+"/purge"), 204)
		p.happen(t, subject, "delete", row, nil, nil)
	case kind == 2:
		s, sent := p.draw(t, row)
		is(t, root.Put(path, p.body(sent, "")), 200)
		p.happen(t, subject, "replace", row, s, sent)
	case kind == 3:
		between, first := p.draw(t, row)
		s, sent := p.draw(t, row)
		quoted, _ := json.Marshal(subject)
		step := `{"op":"update","entity":"thing","id":` + string(quoted) + `,"data":`
		is(t, root.Post("/data/transaction", `{"writes":[`+step+p.body(first, "")+`},`+step+p.body(sent, "")+`}]}`), 200)
		p.happen(t, subject, "update", row, s, sent, phase{between, first})
	default:
		s, sent := p.draw(t, row)
		for name := range sent {
			if rapid.Bool().Draw(t, "left out "+name) {
				delete(sent, name)
				if _, named := s[name]; named {
					s[name] = row.state[name]
				}
			}
		}
		is(t, root.Patch(path, p.body(sent, "")), 200)
		p.happen(t, subject, "update", row, s, sent)
	}
}

func is(t *rapid.T, a *servertest.Answer, status int) {
	if a.Status != status {
		t.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
}

// happen takes a change down, or several of one transaction with the states
// between, and holds every reader's GET, list and frames to it.
func (p *played) happen(t *rapid.T, subject, op string, row *life, after state, sent map[string]string, between ...phase) {
	var changes []happening
	was := row.state
	for _, next := range append(between, phase{after, sent}) {
		changes = append(changes, p.change(subject, op, was, next))
		was = next.state
	}
	row.state, row.whole = after, nil
	if after != nil && after["deleted"] != true {
		row.whole = p.read(t, subject, sent)
	}
	p.log = append(p.log, changes...)
	for i := range readers {
		p.reads(t, i, subject, row)
		for _, h := range changes {
			if want := p.told(i, h, row); want != nil {
				p.check(t, i, p.streams[i].Frame(), h, *want)
			}
			if want := p.toldOnChannel(i, h, row); want != nil {
				p.hears(t, i, p.channels[i].Frame(), h, *want)
			}
		}
	}
}

// phase is a state of a row, and what was sent to bring it about.
type phase struct {
	state state
	sent  map[string]string
}

func (p *played) change(subject, op string, was state, next phase) happening {
	h := happening{subject: subject, op: op, word: op + "d", was: was, is: next.state}
	for _, r := range readers {
		h.before, h.after = append(h.before, p.sees(r, was)), append(h.after, p.sees(r, next.state))
	}
	for _, f := range p.fields {
		if raw, given := next.sent[f.name]; given {
			h.sent = append(h.sent, member{f.name, raw})
		}
	}
	switch op {
	case "replace":
		h.op, h.word = "update", "updated"
	case "update":
		h.word = "patched"
	case "restore":
		h.op, h.word = "update", "restored"
	case "purge": // of a deleted row: told where there are no rules, and to everybody
		h.word = "deleted"
		h.op, h.untold = "delete", len(p.rules) > 0
		for i := range h.before {
			h.before[i] = true
		}
	}
	return h
}

// read is the row as root reads it, held to what was sent.
func (p *played) read(t *rapid.T, subject string, sent map[string]string) []member {
	a := p.callers[0].Get("/data/thing/" + url.PathEscape(subject))
	is(t, a, 200)
	whole, err := members(a.Body)
	if err != nil || len(whole) != len(p.fields) {
		t.Fatalf("root reads %s: %v", a.Body, err)
	}
	for i, f := range p.fields {
		if whole[i].name != f.name {
			t.Fatalf("member %d is %s, want %s: %s", i, whole[i].name, f.name, a.Body)
		}
		if raw, ok := sent[f.name]; ok && (f.kind == "string" || f.kind == "object" || f.kind == "colour" || f.kind == "boolean") && !sameJSON(raw, whole[i].raw) {
			t.Fatalf("%s was sent as %s and is read as %s", f.name, raw, whole[i].raw)
		}
	}
	return whole
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
