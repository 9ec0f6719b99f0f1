package contract

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rowcast/rowcast/internal/servertest"
)

// vault has every way in which something can be withheld: fields outside
// access.read, masks on each kind of type, rows by rule, deleted rows.
const vault = `
enums:
  - name: grade
    values: [{value: low}, {value: high}]
entities:
  - name: acct
    inherits: [softdelete]
    fields:
      - {name: id, type: string}
      - {name: title, type: string}
      - {name: owner_id, type: string, defaultvalue: user.id}
      - {name: card, type: string, mask: {keeplast: 2}}
      - {name: pin, type: int, mask: {}}
      - {name: rank, type: grade, mask: {}}
      - {name: born, type: date, mask: {}, validations: [{type: final}]}
      - {name: secret, type: string}
      - {name: origin, type: string, validations: [{type: final}]}
      - {name: needed, type: int, validations: [{type: required}, {type: min, value: 0}], defaultvalue: 5}
      - {name: blob, type: object}
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? true : "blind" in user.roles ? ["create","update","delete"] : ["create","read","update","delete","restore"]'}
      read: {language: expr, expression: '"staff" in user.roles ? true : ["id","title","owner_id","card","pin","rank","born"]'}
    rowrules:
      - {name: own, actions: [read], language: expr, expression: row.owner_id == user.id}
      - {name: staff, actions: [read], language: expr, expression: '"staff" in user.roles'}
    events: [{name: changed}]
    subscriptions:
      - {name: all, rls: true}
      - {name: secret, rls: true, filter: {language: expr, expression: payload.secret == "alpha"}}
      - {name: nosecret, rls: true, filter: {language: expr, expression: payload.secret == nil}}
      - {name: card, rls: true, filter: {language: expr, expression: payload.card == "111134" or payload.card == "****34"}}
      - {name: pin, rls: true, filter: {language: expr, expression: payload.pin > 3}}
      - {name: rank, rls: true, filter: {language: expr, expression: payload.rank == "high"}}
      - {name: nopin, rls: true, filter: {language: expr, expression: payload.pin == nil and payload.born == nil}}
`

// One world and the other: all that ann may not read differs between them, and
// nothing that she may. {id} and {owner} are put in for each row.
var worlds = [2]struct {
	row  string   // of ann's
	more []string // rows of others
}{
	{
		`{"id":"{id}","title":"t {id}","owner_id":"ann","card":"111134","pin":1,"rank":"low","born":"2001-01-01","secret":"alpha","origin":"here","needed":1,"blob":{"a":1}}`,
		[]string{`{"id":"b1","title":"t a1","owner_id":"bob","secret":"alpha"}`, `{"id":"b2","title":"u","owner_id":"bob"}`, `{"id":"a0","title":"u","owner_id":"bob"}`},
	},
	{
		`{"id":"{id}","title":"t {id}","owner_id":"ann","card":"222234","pin":9,"rank":"high","born":"1999-09-09","secret":"betas","origin":"there","needed":7}`,
		nil,
	},
}

// probe is a request by which ann tries to tell the worlds apart.
type probe struct {
	method, path, body string
	header             [2]string
}

// filters is every filter that names what ann does not read as it is.
func filters() (out []string) {
	for _, f := range []struct{ name, value string }{
		{"secret", "alpha"}, {"card", "111134"}, {"card", "****34"}, {"pin", "1"}, {"rank", "low"}, {"born", "2001-01-01"},
		{"origin", "here"}, {"needed", "1"}, {"deletedby", "ann"}, {"blob", "null"},
	} {
		for _, op := range []string{"eq", "ne", "in", "gte", "lt", "like", "ilike", "between", "isNull", "isNotNull"} {
			out = append(out, "filter["+f.name+"]["+op+"]="+f.value)
		}
		out = append(out, "filter[not]["+f.name+"][eq]="+f.value, "filter[or][0]["+f.name+"][eq]="+f.value+"&filter[or][1][title][eq]=t%20a1")
	}
	return out
}

// probes is all of ann's requests, in the order in which she sends them.
func probes() []probe {
	return slices.Concat(looks(), queries(), guesses(), preconditions(), writes())
}

func ask(method, path, body string) probe {
	return probe{method: method, path: "/data/" + path, body: body}
}

// looks reads all that there may be.
func looks() (out []probe) {
	for _, id := range []string{"a1", "a2", "a3", "b1", "b2", "a0", "none"} {
		out = append(out, ask("GET", "acct/"+id, ""), ask("HEAD", "acct/"+id, ""))
	}
	for _, q := range []string{"", "?count=true", "?count=true&limit=1", "?limit=2&offset=1", "?sort=-title", "?deleted=true", "?deleted=true&count=true",
		"?filter[title][like]=t%25&count=true", "?filter[owner_id][eq]=bob&count=true", "?filter[owner_id][ne]=ann&count=true", "?filter[id][gte]=a&count=true&sort=-id"} {
		out = append(out, ask("GET", "acct"+q, ""))
	}
	return out
}

// queries name what she does not read as it is.
func queries() (out []probe) {
	for _, field := range []string{"secret", "card", "pin", "rank", "born", "origin", "needed", "blob", "deletedby", "deletedon", "nosuch"} {
		out = append(out, ask("GET", "acct?sort="+field, ""), ask("GET", "acct?sort=-"+field+",id", ""),
			ask("GET", "acct?fields="+field, ""), ask("GET", "acct/a1?fields="+field+",id", ""))
	}
	for _, f := range filters() {
		out = append(out, ask("GET", "acct?"+f, ""), ask("PATCH", "acct?"+f, `{"title":"x"}`), ask("DELETE", "acct?"+f, ""))
	}
	return out
}

// guesses are writes that touch what she cannot read, of her row and of others'.
func guesses() (out []probe) {
	for _, body := range []string{
		`{}`, `{"title":"t a1"}`, `{"origin":"here"}`, `{"origin":"there"}`, `{"origin":null}`, `{"born":"2001-01-01"}`, `{"born":null}`,
		`{"card":"****34"}`, `{"card":"**34"}`, `{"pin":null}`, `{"rank":null}`, `{"secret":1}`, `{"needed":-1}`, `{"needed":null}`, `{"deletedby":"ann"}`,
		`{"secret":"alpha","nosuch":1}`, `{"id":"b1"}`, `{"id":"nosuch"}`, `{"owner_id":"bob"}`,
	} {
		step := `{"writes":[{"op":"update","entity":"acct","id":"%s","data":` + body + `}]}`
		out = append(out, ask("PATCH", "acct/a1", body), ask("PATCH", "acct?filter[title][like]=t%25", body), ask("PUT", "acct/a1", body),
			ask("PATCH", "acct/b1", body), ask("PATCH", "acct/a3", body),
			ask("POST", "transaction", fmt.Sprintf(step, "a1")), ask("POST", "transaction", fmt.Sprintf(step, "b1")))
	}
	for _, id := range []string{"b1", "b2", "none"} {
		out = append(out, ask("PUT", "acct/"+id, `{"title":"x"}`), ask("DELETE", "acct/"+id, ""), ask("DELETE", "acct/"+id+"/purge", ""),
			ask("PATCH", "acct/"+id+"/restore", ""), ask("POST", "transaction", `{"writes":[{"op":"delete","entity":"acct","id":"`+id+`"}]}`))
	}
	return out
}

// preconditions carry the tag of her row as $a1.
func preconditions() (out []probe) {
	for _, h := range [][2]string{{"If-Match", "*"}, {"If-Match", `"AAAAAAAAAAAAAAAAAAAAAA"`}, {"If-None-Match", "*"}, {"If-Match", "$a1"}, {"If-None-Match", "$a1"}} {
		for _, id := range []string{"a1", "a3", "b1", "none"} {
			out = append(out, probe{"PATCH", "/data/acct/" + id, `{"title":"again"}`, h}, probe{"GET", "/data/acct/" + id, "", h},
				probe{"PUT", "/data/acct/" + id, `{"title":"anew"}`, h}, probe{"PATCH", "/data/acct/" + id + "/restore", "", h})
		}
		out = append(out, probe{"DELETE", "/data/acct/none", "", h}, probe{"DELETE", "/data/acct/b1", "", h}, probe{"DELETE", "/data/acct/a3", "", h})
	}
	return out
}

// writes succeed; what they are answered, and what is read after them.
func writes() []probe {
	changes := []probe{
		ask("PUT", "acct/a1", `{"title":"put","card":"555555"}`), ask("PATCH", "acct/a2", `{"secret":"alpha"}`), ask("PATCH", "acct/a2", `{"pin":1,"rank":"low"}`),
		ask("PATCH", "acct?filter[id][in]=a0,a1,a2,b1,b2", `{"secret":"alpha"}`), ask("DELETE", "acct?filter[title][eq]=u", ""),
		ask("DELETE", "acct/a2", ""), ask("DELETE", "acct/a2", ""),
	}
	back := []probe{ask("PATCH", "acct/a2/restore", ""), ask("PATCH", "acct/a2/restore", ""), ask("DELETE", "acct?filter[id][gte]=a", "")}
	return slices.Concat(changes, looks(), back, looks())
}

// ann does all that she can think of, and writes down what she is told.
func transcript(t *testing.T, world int) (lines []string) {
	s := servertest.Start(t, servertest.Options{Schema: vault})
	sue, ann, blind := s.User("sue", "staff"), s.User("ann"), s.User("ann", "blind")
	for _, id := range []string{"a1", "a2", "a3"} {
		sue.Post("/data/acct", strings.ReplaceAll(worlds[world].row, "{id}", id)).Is(201)
	}
	sue.Delete("/data/acct/a3").Is(204)
	for _, row := range worlds[world].more {
		sue.Post("/data/acct", row).Is(201)
	}
	names := []string{"all", "secret", "nosecret", "card", "pin", "rank", "nopin"}
	streams := map[string]*servertest.Stream{}
	for _, name := range names {
		streams[name] = ann.Open("/subscribe/acct?name=" + name + "&leave=true&heartbeat=1s")
	}
	bookmark := streams["all"].Ping().ID
	etag := ann.Get("/data/acct/a1").Header.Get("ETag")
	for _, p := range probes() {
		as := ann
		if p.header[0] != "" {
			as = ann.With(p.header[0], strings.ReplaceAll(p.header[1], "$a1", etag))
		}
		lines = append(lines, told(p, as.Do(p.method, p.path, p.body)))
	}
	for _, h := range []string{"*", etag} {
		lines = append(lines, told(probe{path: "blind " + h}, blind.With("If-Match", h).Patch("/data/acct/a2", `{"title":"x"}`)))
	}
	for _, body := range []string{`{"origin":"here"}`, `{"born":"2001-01-01"}`, `{"card":"****34"}`, `{"pin":null}`, `{"secret":"alpha"}`} {
		lines = append(lines, told(probe{path: "blind " + body}, blind.Patch("/data/acct/a2", body)))
	}
	ann.Post("/data/acct", `{"id":"the end"}`).Is(201)
	for _, name := range names {
		if name == "secret" || name == "card" || name == "pin" || name == "rank" {
			continue // told of nothing that they could wait for: the others' order stands for theirs
		}
		lines = append(lines, frames(name, streams[name])...)
		lines = append(lines, frames("resumed "+name, ann.Resume("/subscribe/acct?leave=true&name="+name, bookmark))...)
	}
	for _, name := range []string{"secret", "card", "pin", "rank"} {
		streams[name].Close()
		for _, b := range streams[name].End() {
			if b.Event != "" {
				lines = append(lines, name+": "+scrub(b.Raw))
			}
		}
	}
	return lines
}

// frames is what a stream tells up to the last row.
func frames(name string, stream *servertest.Stream) (lines []string) {
	for {
		f := stream.Frame()
		lines = append(lines, name+": "+scrub(f.Raw))
		if f.Subject() == "the end" {
			return lines
		}
	}
}

var accidents = regexp.MustCompile(`[0-9A-HJKMNP-TV-Z]{26}|\d{4}-\d\d-\d\dT[0-9:.]+Z|"next":"[^"]*"`)

// scrub takes out what differs between two runs of anything: times, event ids,
// the nonce of a cursor (its length stays).
func scrub(text string) string {
	return accidents.ReplaceAllStringFunc(text, func(s string) string {
		if strings.HasPrefix(s, `"next"`) {
			return fmt.Sprintf(`"next":<%d>`, len(s))
		}
		if strings.Contains(s, ":") {
			return "<time>"
		}
		return "<id>"
	})
}

// told is the whole of an answer.
func told(p probe, a *servertest.Answer) string {
	var head []string
	for name, values := range a.Header {
		if name == "Date" || name == "X-Request-Id" || (name == "Content-Length" && strings.Contains(a.Body, "Z\"")) {
			continue
		}
		head = append(head, name+"="+strings.Join(values, ","))
	}
	slices.Sort(head)
	return fmt.Sprintf("%s %s %s %v -> %d %v %s", p.method, p.path, p.body, p.header, a.Status, head, scrub(a.Body))
}

// Access rules, row rules and masks guard every answer: two servers that differ
// only in what a caller may not read (hidden fields, what masks hide, rows of
// others) answer it alike, byte for byte, whatever it asks, writes or listens
// to. A filter, order, page, count, tag, precondition, mask, final field,
// refusal or subscription filter is no oracle.
func TestWhatCannotBeReadShowsInNoAnswer(t *testing.T) {
	one, other := transcript(t, 0), transcript(t, 1)
	if diff := cmp.Diff(one, other); diff != "" {
		t.Errorf("ann can tell the worlds apart:\n%s", diff)
	}
	statuses := map[string]int{}
	for _, line := range one {
		if _, rest, ok := strings.Cut(line, " -> "); ok {
			statuses[rest[:3]]++
		}
	}
	t.Logf("%d lines, by status %v", len(one), statuses)
	for _, status := range []int{http.StatusOK, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusPreconditionFailed, http.StatusUnprocessableEntity, http.StatusNotModified} {
		if statuses[fmt.Sprint(status)] == 0 {
			t.Errorf("no probe is answered %d: the probes have lost their edge", status)
		}
	}
}
