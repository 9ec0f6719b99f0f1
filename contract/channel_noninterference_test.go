package contract

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rowcast/rowcast/internal/servertest"
)

// channelVault is the vault with channels and operations.
const channelVault = vault + `
    realtime: {filterable: true}
    operations:
      - {name: seal, kind: write, cardinality: one, action: update, realtimeevent: updated, set: {title: sealed, secret: sealed}}
      - {name: swap, kind: write, cardinality: one, action: update, realtimeevent: patched, set: {title: {language: expr, expression: old.title}, pin: 3}}
`

// plot is what happens in both worlds: ann opens channels, rows are written, some
// by her, and she resumes her channels from where she likes.
type plot struct {
	opens  []string // queries, with {one} and {other} for ids
	writes []deed
	again  []resumption
}

// deed is a write; {0:…|1:…} stands for what differs between the worlds.
type deed struct{ as, method, path, body string }

type resumption struct {
	stream, after int
	query         string
}

// withheldConditions name what ann does not read as it is, openConditions what she does.
var (
	withheldConditions = []string{
		"filter[secret][eq]=alpha", "filter[card][like]=11%25", "filter[card][eq]=****34", "filter[pin][gt]=3", "filter[rank][eq]=high", "filter[born][lt]=2000-01-01",
		"filter[not][needed][eq]=5", "filter[or][0][title][eq]=t&filter[or][1][secret][isNull]=true", "filter[blob][isNull]=false", "filter[deletedby][isNull]=true", "filter[nosuch][eq]=1",
		"filter=" + url.QueryEscape(`{"not":{"secret":{"eq":"alpha"}}}`),
	}
	openConditions = []string{
		"", "", "filter[title][eq]=t", "filter[title][ne]=t", "filter[owner_id][eq]=ann", "filter[not][owner_id][eq]=ann", "filter[title][like]=_", "filter[id][gte]=a",
		"filter[or][0][title][eq]=u&filter[or][1][owner_id][ne]=bob",
	}
	names = []string{"id", "title", "owner_id", "card", "pin", "rank", "born", "secret", "origin", "needed", "blob", "deletedon", "nosuch"}
)

func drawQuery(t *rapid.T) string {
	q := "channel=" + rapid.SampledFrom([]string{"acct", "acct", "acct.{one}", "acct.{other}"}).Draw(t, "channel")
	conditions := openConditions
	if rapid.IntRange(0, 3).Draw(t, "withheld") == 0 {
		conditions = withheldConditions
	}
	q += "&" + rapid.SampledFrom(conditions).Draw(t, "filter")
	for _, parameter := range []string{"changed", "fields"} {
		if rapid.IntRange(0, 2).Draw(t, parameter) == 0 {
			few := names[:3+rapid.IntRange(0, 1).Draw(t, "any")*10]
			q += "&" + parameter + "=" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(few), 1, 2).Draw(t, "names"), ",")
		}
	}
	return q + "&leave=" + rapid.SampledFrom([]string{"true", "false"}).Draw(t, "leave")
}

// shown and unseen are members of a write: what all worlds share, and what ann
// does not read. In the first world the unseen ones stay what they are.
var (
	shown  = []string{`"title":"t"`, `"title":"u"`, `"title":"tt"`, `"owner_id":"ann"`, `"owner_id":"bob"`}
	unseen = []string{
		`"secret":"{0:alpha|1:betas}"`, `"secret":{0:"alpha"|1:null}`, `"card":"{0:111134|1:222234}"`, `"pin":{0:1|1:9}`, `"rank":"{0:low|1:high}"`, `"needed":{0:1|1:7}`, `"blob":{0:null|1:[1]}`,
	}
)

func drawDeed(t *rapid.T) deed {
	row := rapid.SampledFrom([]string{"{one}", "{one}", "{other}"}).Draw(t, "row")
	open, closed := rapid.SampledFrom(shown).Draw(t, "shown"), rapid.SampledFrom(unseen[:6]).Draw(t, "unseen")
	both, path := "{"+open+","+closed+"}", "/data/acct/"+row
	step := func(body string) string {
		return `{"op":"update","entity":"acct","id":"` + row + `","data":` + body + `}`
	}
	return rapid.SampledFrom([]deed{
		{"sue", "PATCH", path, both}, {"sue", "PATCH", path, "{" + closed + "}"}, {"sue", "PATCH", path, "{" + open + "}"},
		{"sue", "PUT", path, `{"title":"t","owner_id":"ann",` + closed + `}`}, {"sue", "DELETE", path, ""}, {"sue", "PATCH", path + "/restore", ""},
		{"sue", "PATCH", "/data/acct?filter[id][in]={one},{other}", "{" + closed + "}"}, {"sue", "POST", "/data/transaction", `{"writes":[` + step(both) + `,` + step("{"+closed+"}") + `]}`},
		{"sue", "POST", path + "/seal", ""}, {"sue", "POST", path + "/swap", ""},
		{"ann", "PATCH", path, "{" + open + "}"}, {"ann", "PATCH", path, `{"secret":"guess"}`}, {"ann", "POST", path + "/swap", ""},
		{"ann", "PATCH", "/data/acct?" + rapid.SampledFrom(withheldConditions).Draw(t, "condition"), `{"title":"t"}`},
	}).Draw(t, "deed")
}

var plots = rapid.Custom(func(t *rapid.T) plot {
	p := plot{opens: rapid.SliceOfN(rapid.Custom(drawQuery), 3, 6).Draw(t, "opens"), writes: rapid.SliceOfN(rapid.Custom(drawDeed), 3, 8).Draw(t, "writes")}
	for range rapid.IntRange(1, 3).Draw(t, "resumptions") {
		p.again = append(p.again, resumption{rapid.IntRange(0, len(p.opens)-1).Draw(t, "stream"), rapid.IntRange(0, 9).Draw(t, "after"), drawQuery(t)})
	}
	return p
})

// theatre is a world in which plots are played.
type theatre struct {
	s       *servertest.Server
	world   int
	round   int
	witness *servertest.Stream // of staff
	lines   []string
	ends    map[string]string // ids of the frames that come last, by channel
}

func stage(t *testing.T, world int) *theatre {
	t.Helper()
	s := servertest.Start(t, servertest.Options{Schema: channelVault, Boot: "limits: {streamsperprincipal: 10000}\n"})
	return &theatre{s: s, world: world, witness: s.User("sue", "staff").Open("/realtime?channel=acct&lifetime=4h")}
}

// play runs a plot and returns what ann is told.
func (w *theatre) play(t *testing.T, round int, p plot) []string {
	w.round, w.lines, w.ends = round, nil, map[string]string{}
	s := w.s.In(t)
	ann, sue := s.User("ann"), s.User("sue", "staff")
	for id, owner := range map[string]string{"{one}": "ann", "{other}": "bob"} {
		row := strings.NewReplacer("{id}", w.fill(id), "t {id}", "t", `"owner_id":"ann"`, `"owner_id":"`+owner+`"`).Replace(worlds[w.world].row)
		w.does(sue, "POST", "/data/acct", row).Is(201)
	}
	streams := make([]*servertest.Stream, len(p.opens))
	for i, query := range p.opens {
		streams[i] = w.opens(ann, query, "")
	}
	for _, d := range p.writes {
		as := map[string]*servertest.Caller{"ann": ann, "sue": sue}[d.as]
		a := w.does(as, d.method, w.fill(d.path), w.fill(d.body))
		if d.as == "ann" {
			w.lines = append(w.lines, told(probe{path: d.path, body: d.body}, a))
		}
	}
	w.end(sue)
	ids := make([][]string, len(p.opens))
	for i, stream := range streams {
		if stream != nil {
			ids[i] = w.reads(stream, p.opens[i])
		}
	}
	for _, r := range p.again {
		if from := ids[r.stream]; len(from) > 0 {
			if stream := w.opens(ann, r.query, from[min(r.after, len(from)-1)]); stream != nil {
				w.lines = append(w.lines, fmt.Sprintf("resumed after %d", r.after))
				w.resumed(stream, r.query, from[min(r.after, len(from)-1)])
			}
		}
	}
	return w.lines
}

// fill puts in the ids of this round and the values of this world.
func (w *theatre) fill(text string) string {
	n := strconv.Itoa(w.round)
	text = strings.NewReplacer("{one}", "a"+n, "{other}", "b"+n).Replace(text)
	for {
		from := strings.Index(text, "{0:")
		if from < 0 {
			return text
		}
		length := strings.IndexByte(text[from:], '}')
		first, second, _ := strings.Cut(text[from+3:from+length], "|1:")
		text = text[:from] + []string{first, second}[w.world] + text[from+length+1:]
	}
}

func (w *theatre) opens(ann *servertest.Caller, query, after string) *servertest.Stream {
	if after != "" {
		ann = ann.With("Last-Event-ID", after)
	}
	stream, refusal := ann.Knock("/realtime?" + w.fill(query))
	if refusal != nil {
		w.lines = append(w.lines, told(probe{path: query}, refusal))
		return nil
	}
	w.lines = append(w.lines, query+" -> "+stream.Next().Raw)
	return stream
}

// does writes, and waits until the witness is told of it: a frame shows its row as
// of its own write or a later one, and which it is must not differ between worlds.
func (w *theatre) does(c *servertest.Caller, method, path, body string) *servertest.Answer {
	a := c.Do(method, path, body)
	var many struct{ Changed *int }
	events := 1
	switch {
	case a.Status/100 != 2:
		events = 0
	case path == "/data/transaction":
		events = 2
	case json.Unmarshal([]byte(a.Body), &many) == nil && many.Changed != nil:
		events = *many.Changed
	}
	for range events {
		if f := w.witness.Frame(); f.Event == "deleted" {
			id, _ := f.JSON()["id"].(string)
			w.ends["acct"], w.ends["acct."+id] = f.ID, f.ID
		}
	}
	return a
}

// end makes both rows ann's and removes them, and then one more: she is told of
// each removal, whatever she asked for.
func (w *theatre) end(sue *servertest.Caller) {
	for _, id := range []string{w.fill("{one}"), w.fill("{other}")} {
		w.does(sue, "PATCH", "/data/acct/"+id+"/restore", "")
		w.does(sue, "PATCH", "/data/acct/"+id, `{"owner_id":"ann"}`).Is(200)
		w.does(sue, "DELETE", "/data/acct/"+id, "").Is(204)
	}
	last := fmt.Sprintf("end%d", w.round)
	w.does(sue, "POST", "/data/acct", `{"id":"`+last+`","owner_id":"ann"}`).Is(201)
	w.does(sue, "DELETE", "/data/acct/"+last, "").Is(204)
}

func (w *theatre) last(query string) string {
	channel, _, _ := strings.Cut(strings.TrimPrefix(query, "channel="), "&")
	return w.ends[w.fill(channel)]
}

// reads writes down a stream up to its last frame, and returns the ids.
func (w *theatre) reads(stream *servertest.Stream, query string) (ids []string) {
	for {
		f := stream.Frame()
		w.lines, ids = append(w.lines, query+": "+scrub(f.Raw)), append(ids, f.ID)
		if f.ID == w.last(query) {
			stream.Close()
			return ids
		}
	}
}

// resumed is reads of a stream that may begin behind its last frame, or nowhere.
func (w *theatre) resumed(stream *servertest.Stream, query, after string) {
	if after >= w.last(query) { // nothing is left to be told
		stream.Close()
		return
	}
	w.reads(stream, query)
}

// Section 4.3 and 6, a filter is no way round the guard: two servers whose rows
// differ only in what ann may not read tell her the same, byte for byte, whatever
// channels she opens, with whatever filter, changed=, fields and leave=, and
// wherever she resumes; a condition on such a field is refused, by the row's
// values nowhere.
//
// CONTRACT_PLOTS says how many sequences are tried.
func TestChannelsTellNothingOfWhatCannotBeRead(t *testing.T) {
	rounds := 20
	if text := os.Getenv("CONTRACT_PLOTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("CONTRACT_PLOTS: %v", err)
		}
		rounds = n
	}
	one, other := stage(t, 0), stage(t, 1)
	opened, refused, frames := 0, 0, 0
	for round := range rounds {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			p := plots.Example(round)
			here, there := one.play(t, round, p), other.play(t, round, p)
			if diff := cmp.Diff(here, there); diff != "" {
				t.Errorf("ann can tell the worlds apart:\n%s\nby %+v", diff, p)
			}
			all := strings.Join(here, "\n")
			opened, refused, frames = opened+strings.Count(all, ": subscribed"), refused+strings.Count(all, "invalid_field"), frames+strings.Count(all, "event: ")
		})
	}
	t.Logf("%d channels opened, %d fields refused, %d frames", opened, refused, frames)
	if opened == 0 || refused == 0 || frames < 4*opened/2 {
		t.Error("the plots have lost their edge")
	}
}
