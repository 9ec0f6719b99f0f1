package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// transferSchema has every type, what can refuse a row, and rows of one's own.
const transferSchema = `enums:
  - name: thing_state
    values: [{value: new}, {value: used}]
entities:
  - name: thing
    fields:
      - {name: id, type: ulid}
      - {name: title, type: string}
      - {name: small, type: int}
      - {name: large, type: bigint}
      - {name: ratio, type: double}
      - {name: good, type: boolean}
      - {name: day, type: date}
      - {name: at, type: datetime}
      - {name: stamp, type: timestamp}
      - {name: ref, type: ulid}
      - {name: other, type: uuid}
      - {name: extra, type: object}
      - {name: tags, type: array}
      - {name: blob, type: bytes}
      - {name: state, type: thing_state}
  - name: item
    fields:
      - {name: id, type: int}
      - {name: code, type: string, validations: [{type: required}, {type: unique}]}
      - {name: n, type: int, validations: [{type: max, value: 100000}]}
      - {name: owner, type: string, defaultvalue: user.id}
    rowrules:
      - {name: own, actions: [create, read], language: expr, expression: row.owner == user.id}
    filter: {fields: [n, code]}
  - name: open
    fields: [{name: id, type: int}, {name: title, type: string}]
    access:
      actions: {language: expr, expression: '["create", "read"]'}
  - name: stamped
    inherits: [common]
    fields: [{name: id, type: int}, {name: title, type: string}]
`

// things are rows of every type at their edges, in the form of the server.
var things = strings.Join([]string{
	`{"id":"01M2P1R18HT8575N8GVM2H5WP0","title":null,"small":null,"large":null,"ratio":null,"good":null,"day":null,"at":null,"stamp":null,"ref":null,"other":null,"extra":null,"tags":null,"blob":null,"state":null}`,
	`{"id":"01M2P1R18HT8575N8GVM2H5WP1","title":"","small":-2147483648,"large":-9223372036854775808,"ratio":-0.5,"good":false,"day":"0001-01-01","at":"2026-09-17T02:25:12Z","stamp":"2026-09-17T02:25:12.000001Z","ref":"01M2P1R18HT8575N8GVM2H5WPN","other":"0b9c2f14-6a51-4d0e-9a57-0d6a2c9f1e01","extra":{},"tags":[],"blob":"","state":"new"}`,
	`{"id":"01M2P1R18HT8575N8GVM2H5WP2","title":"a \"quoted\", text\r\nof two lines\n\u2028<b>\t\u0001","small":2147483647,"large":9223372036854775807,"ratio":1e+300,"good":true,"day":"9999-12-31","at":null,"stamp":null,"ref":null,"other":null,"extra":{"a":"x,\"y\"","b":[1,2.50,null],"ü":{"c":1e400}},"tags":["a,b",{"c":"\n"}],"blob":"AP/+","state":"used"}`,
	`{"id":"01M2P1R18HT8575N8GVM2H5WP3","title":"null","small":0,"large":0,"ratio":0.1,"good":true,"day":null,"at":null,"stamp":null,"ref":null,"other":null,"extra":null,"tags":null,"blob":null,"state":null}`,
	`{"id":"01M2P1R18HT8575N8GVM2H5WP4","title":"007","small":7,"large":null,"ratio":7,"good":null,"day":null,"at":null,"stamp":null,"ref":null,"other":null,"extra":null,"tags":null,"blob":null,"state":null}`,
	`{"id":"01M2P1R18HT8575N8GVM2H5WP5","title":" ` + "\uFEFF" + ` spaces ","small":null,"large":null,"ratio":null,"good":null,"day":null,"at":null,"stamp":null,"ref":null,"other":null,"extra":null,"tags":null,"blob":null,"state":null}`,
}, "\n") + "\n"

// transferServer serves the schema; more is added to the boot document.
func transferServer(t *testing.T, more string) (address, token string) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "rowcast.yaml")
	write(t, config, `listen: 127.0.0.1:0
auth:
  jwt: [{alg: HS256, secret: "a-secret-for-tests-alone-32-bytes!"}]
`+more+`tenants:
  "local:dev:transfer:main":
    schema: ./schema
    datastores: {main: {driver: sqlite, path: ./data/t.db}}
`)
	write(t, filepath.Join(filepath.Dir(config), "schema", "schema.yaml"), transferSchema)
	server := start(t, "serve", "--config", config)
	address = server.line(t, `^listening on (\S+)$`)[1]
	t.Cleanup(func() { _ = server.cmd.Wait() }) // it is killed with the test
	return address, strings.TrimSpace(run(t, "token", "--config", config, "--sub", "ann").stdout)
}

// transfer runs import or export against a server.
func transfer(t *testing.T, address, token string, args ...string) result {
	t.Helper()
	return run(t, append(args, "--url", address, "--token", token)...)
}

// file writes a file to import.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	write(t, path, text)
	return path
}

func contents(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// numbered are rows of item, numbered from 0.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"code":"c%d","n":%d}`+"\n", i, i)
	}
	return b.String()
}

// exported returns the sorted numbers of the items that there are.
func exported(t *testing.T, address, token string) string {
	t.Helper()
	got := transfer(t, address, token, "export", "item", "--fields", "n", "--sort", "n")
	if got.status != 0 {
		t.Fatalf("export: %+v", got)
	}
	return got.stdout
}

// wantNumbers is what exported returns of so many rows, once each.
func wantNumbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"n":%d}`+"\n", i)
	}
	return b.String()
}

// What was exported and imported elsewhere is the same to the byte, as NDJSON
// and as CSV; of CSV no flag says what the fields hold.
func TestARoundTripKeepsEveryByteOfEveryType(t *testing.T) {
	for _, format := range []string{"ndjson", "csv"} {
		t.Run(format, func(t *testing.T) {
			first, token := transferServer(t, "")
			if got := transfer(t, first, token, "import", "thing", file(t, "things.jsonl", things)); got.status != 0 || got.stdout != "6 rows written, 0 lines refused\n" {
				t.Fatalf("import: %+v", got)
			}
			if got := transfer(t, first, token, "export", "thing"); got.stdout != things || got.stderr != "" {
				t.Fatalf("the server shows something else:\n%s%s\nwant\n%s", got.stdout, got.stderr, things)
			}
			path := filepath.Join(t.TempDir(), "out."+format)
			if got := transfer(t, first, token, "export", "thing", path); got.status != 0 || got.stdout != "" {
				t.Fatalf("export: %+v", got)
			}
			second, token := transferServer(t, "")
			if got := transfer(t, second, token, "import", "thing", path); got.status != 0 {
				t.Fatalf("import: %+v\n%s", got, contents(t, path))
			}
			if got := transfer(t, second, token, "export", "thing").stdout; got != things {
				t.Errorf("got\n%s\nwant\n%s\nby\n%s", got, things, contents(t, path))
			}
			left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
			if err != nil || len(left) != 1 {
				t.Errorf("beside the file is left: %v %v", left, err)
			}
		})
	}
}

// Each line that is refused is named with its number, whoever refuses it; all
// others are written.
func TestRefusedLinesAreNamedAndTheOthersWritten(t *testing.T) {
	address, token := transferServer(t, "")
	refused := map[int]string{
		3: "not JSON", 4: "not a JSON object", 6: "n must be a whole number", 7: "no such field", 8: "conflict", 10: "row_refused",
		11: "not valid UTF-8", 12: "gives a key twice", 13: "code must have a value", 14: "at most 100000",
	}
	lines := []string{
		`{"code":"a","n":1}`, ``, `{"code":`, `[1]`, `{"code":"b","n":2}`, `{"code":"c","n":"x"}`, `{"code":"d","m":1}`, `{"code":"a","n":3}`,
		"  {\"code\":\"e\", \"n\":4} \r", `{"code":"f","owner":"bob"}`, "{\"code\":\"\xff\"}", `{"code":"g","code":"h"}`, `{"n":5}`, `{"code":"i","n":100001}`, `{"code":"j","n":5}`,
	}
	path := file(t, "items.ndjson", "\uFEFF"+strings.Join(lines, "\n"))
	rejects := filepath.Join(t.TempDir(), "refused.ndjson")
	got := transfer(t, address, token, "import", "item", path, "--rejects", rejects)
	if got.status != 1 || got.stdout != "4 rows written, 10 lines refused\n" || !strings.Contains(got.stderr, "rowcast: 10 lines were refused") {
		t.Fatalf("got %+v", got)
	}
	named := map[int]string{}
	for line := range strings.Lines(contents(t, rejects)) {
		var r struct {
			Line   int
			Reason string
			Row    json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Row == nil {
			t.Fatalf("%s: %v", line, err)
		}
		named[r.Line] = r.Reason
		if !strings.Contains(got.stderr, fmt.Sprintf("line %d: %s\n", r.Line, r.Reason)) {
			t.Errorf("stderr does not say: line %d: %s\n%s", r.Line, r.Reason, got.stderr)
		}
	}
	for line, want := range refused {
		if !strings.Contains(named[line], want) {
			t.Errorf("line %d: got %q, want %q", line, named[line], want)
		}
	}
	if len(named) != len(refused) {
		t.Errorf("got %d lines, want %d: %v", len(named), len(refused), named)
	}
	if got := exported(t, address, token); got != `{"n":1}`+"\n"+`{"n":2}`+"\n"+`{"n":4}`+"\n"+`{"n":5}`+"\n" {
		t.Errorf("written: %s", got)
	}
	// What was corrected can be imported from what was refused.
	if got := transfer(t, address, token, "import", "item", path); got.status != 1 || got.stdout != "0 rows written, 14 lines refused\n" {
		t.Errorf("the same file as another import: %+v", got)
	}
}

// gate passes requests on, and at the chosen one that was carried out keeps the
// answer to itself.
type gate struct {
	proxy *httputil.ReverseProxy
	lose  atomic.Int64 // which bulk or list request from now
	lost  chan struct{}
	fail  atomic.Int64 // how many requests to answer with 503 first
	count atomic.Int64
	last  atomic.Int64 // the request after which all are answered with 503; 0 none
}

func newGate(t *testing.T, address string) (*gate, string) {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{proxy: httputil.NewSingleHostReverseProxy(target), lost: make(chan struct{}, 1)}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	return g, server.URL
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, last := g.count.Add(1), g.last.Load()
	if g.fail.Add(-1) >= 0 || last > 0 && n > last {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if g.lose.Add(-1) != 0 {
		g.proxy.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body) // so that the end of the client is noticed
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	g.proxy.ServeHTTP(answer, r.WithContext(context.WithoutCancel(r.Context())))
	g.lost <- struct{}{}
	<-r.Context().Done()
}

// refuseAfter answers with 503 after so many requests more; 0 no longer does.
func (g *gate) refuseAfter(n int64) {
	if n > 0 {
		n += g.count.Load()
	}
	g.last.Store(n)
}

// killed starts a command and kills it when the gate has lost an answer.
func (g *gate) killed(t *testing.T, nth int64, args ...string) {
	t.Helper()
	g.lose.Store(nth)
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-g.lost:
	case err := <-ended:
		t.Fatalf("it ended before it was killed: %v\n%s", err, stderr.String())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Fatal("it ended well before it was killed")
	}
}

// A run that is killed when the server has written rows and nobody was told goes
// on, and each row is there exactly once; so are the refused lines.
func TestAKilledImportGoesOnWithEachRowOnce(t *testing.T) {
	const rows = 5000
	address, token := transferServer(t, "")
	g, through := newGate(t, address)
	text := strings.Split(strings.TrimSpace(numbered(rows)), "\n")
	text = slices.Insert(text, 1234, `{"code":"c0"}`) // refused, the second time within its batch
	text = slices.Insert(text, 1200, `{"code":`)
	path := file(t, "items.ndjson", strings.Join(text, "\n"))
	rejects := filepath.Join(t.TempDir(), "refused.ndjson")
	args := []string{"import", "item", path, "--batch", "100", "--rejects", rejects, "--url", through, "--token", token}
	for _, nth := range []int64{1, 14, 1, 20} { // the second and third die at the rest of a batch of which lines were refused
		g.killed(t, nth, args...)
	}
	got := run(t, args...)
	if got.status != 1 || got.stdout != "5000 rows written, 2 lines refused\n" || !strings.Contains(got.stderr, "going on behind line ") {
		t.Fatalf("got %+v", got)
	}
	if got, want := exported(t, address, token), wantNumbers(rows); got != want {
		t.Errorf("not each row once: %d bytes, want %d", len(got), len(want))
	}
	if got := contents(t, rejects); strings.Count(got, "\n") != 2 || !strings.Contains(got, `{"line":1201,`) || !strings.Contains(got, `{"line":1236,`) {
		t.Errorf("refused: %s", got)
	}
	if _, err := os.Stat(path + ".import"); err == nil {
		t.Error("the state of what is done is left")
	}
}

func TestAStateOfAnotherImportIsRefused(t *testing.T) {
	address, token := transferServer(t, "")
	path := file(t, "items.ndjson", `{"code":"a","n":1}`+"\n"+`{"code":"b","n":"x"}`+"\n"+`{"code":"c","n":2}`)
	if got := transfer(t, address, token, "import", "item", path, "--batch", "1", "--max-errors", "0"); got.status != 1 ||
		!strings.Contains(got.stderr, "1 lines were refused, more than --max-errors; call it again to go on") {
		t.Fatalf("got %+v", got)
	}
	other := transfer(t, address, token, "import", "thing", path)
	if other.status != 1 || !strings.Contains(other.stderr, "is of an import of item at") {
		t.Errorf("another entity: %+v", other)
	}
	if got := transfer(t, address, token, "import", "item", path, "--fields", "code"); got.status != 1 || !strings.Contains(got.stderr, "with other flags") {
		t.Errorf("other flags: %+v", got)
	}
	if got := transfer(t, address, token, "import", "item", path); got.status != 1 || got.stdout != "2 rows written, 1 lines refused\n" {
		t.Errorf("the same again: %+v", got)
	}
	if got, want := exported(t, address, token), `{"n":1}`+"\n"+`{"n":2}`+"\n"; got != want {
		t.Errorf("got %s", got)
	}
}

// A batch that is too large for the server is split, a row that is too large is
// refused by its number, and a server that is away for a while is waited for.
func TestImportFitsTheServersLimits(t *testing.T) {
	address, token := transferServer(t, "limits: {body: 4KiB, rows: 64}\n")
	g, through := newGate(t, address)
	g.fail.Store(2)
	text := numbered(700) + `{"code":"` + strings.Repeat("x", 5000) + `"}` + "\n"
	got := transfer(t, through, token, "import", "item", file(t, "items.ndjson", text))
	if got.status != 1 || got.stdout != "700 rows written, 1 lines refused\n" || !strings.Contains(got.stderr, "line 701: 413: body_too_large") ||
		!strings.Contains(got.stderr, "trying again in") {
		t.Errorf("got %+v", got)
	}
	if got := exported(t, address, token); got != wantNumbers(700) {
		t.Errorf("%d rows", strings.Count(got, "\n"))
	}
	if asked := g.count.Load(); asked > 60 {
		t.Errorf("it took %d requests", asked)
	}
	g.fail.Store(1 << 40)
	if got := transfer(t, through, token, "import", "item", file(t, "items.ndjson", text), "--retry", "200ms"); got.status != 1 || !strings.Contains(got.stderr, "tried for 200ms: 503") {
		t.Errorf("of a server that stays away: %+v", got)
	}
}

func TestImportReadsCSV(t *testing.T) {
	address, token := transferServer(t, "")
	text := "\uFEFFcode;n;note\r\n" + `"a ""quoted"" one;` + "\r\nof two\";1;x\r\n" + "b;;\n\n" + "c;x;\n" + "d\n" + "e;3;\"\"\n" + "\"f\";4;\xff"
	path := file(t, "items.CSV", text)
	if got := transfer(t, address, token, "import", "item", path, "--delimiter", ";"); got.status != 1 || !strings.Contains(got.stderr, "names note, which is no field") {
		t.Fatalf("a field there is not: %+v", got)
	}
	got := transfer(t, address, token, "import", "item", path, "--delimiter", ";", "--fields", "code,n")
	want := "line 6: n must be a whole number from -2147483648 to 2147483647 (invalid_type)\n"
	if got.status != 1 || got.stdout != "4 rows written, 2 lines refused\n" || !strings.Contains(got.stderr, want) ||
		!strings.Contains(got.stderr, "line 7: has 1 cells, and the first line names 3 fields\n") {
		t.Errorf("got %+v", got)
	}
	written := transfer(t, address, token, "export", "item", "--fields", "code,n", "--format", "csv").stdout
	if want := "code,n\n\"a \"\"quoted\"\" one;\r\nof two\",1\nb,\ne,3\nf,4\n"; written != want {
		t.Errorf("got %q, want %q", written, want)
	}
	if got := transfer(t, address, token, "import", "stamped", file(t, "s.csv", "title,createdon\nx,\n")); got.status != 1 || !strings.Contains(got.stderr, "createdon, which is set by the server alone") {
		t.Errorf("what the server sets: %+v", got)
	}
	cmd := exec.CommandContext(t.Context(), binary, "import", "item", "-", "--format", "csv", "--types", "code=string,n=int", "--url", address, "--token", token)
	cmd.Stdin = strings.NewReader("n,code\n9,\"\"\n")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "1 rows written, 0 lines refused\n" {
		t.Errorf("from stdin: %v\n%s", err, out)
	}
}

// Without a credential there are no keys: what cannot be known is said.
func TestAnAnonymousImportSaysWhatItCannotDo(t *testing.T) {
	address, _ := transferServer(t, "  anonymous: {}\n")
	path := file(t, "things.ndjson", `{"title":"a"}`+"\n")
	got := run(t, "import", "open", path, "--url", address)
	if got.status != 0 || got.stdout != "1 rows written, 0 lines refused\n" || !strings.Contains(got.stderr, "cannot bear an Idempotency-Key") {
		t.Errorf("got %+v", got)
	}
}

func TestImportsAndExportsThatAreRefused(t *testing.T) {
	address, token := transferServer(t, "")
	rows := file(t, "items.ndjson", numbered(1))
	twice := file(t, "twice.csv", "n,code,n\n1,a,2\n")
	empty := file(t, "empty.csv", "")
	for _, c := range []struct {
		args   string
		status int
		wants  string
	}{
		{"import", 2, "accepts 2 arg"},
		{"import item", 2, "accepts 2 arg"},
		{"import item rows.txt", 2, "--format ndjson"},
		{"import item - --format xml", 2, "want ndjson or csv"},
		{"import item " + rows + " --batch 0", 2, "--batch"},
		{"import item " + rows + " --types n=int", 2, "are of CSV"},
		{"import item " + twice + " --types n=number", 2, "with one of string, int"},
		{"import item " + twice + " --delimiter ;;", 2, "one ASCII character"},
		{"import item " + twice, 1, `two columns are named "n"`},
		{"import item " + empty, 1, "must name the fields"},
		{"import item nowhere.csv", 1, "no such file"},
		{"import nothing " + rows, 1, "entity_not_found"},
		{"import item " + rows + " --token x", 1, "ROWCAST_TOKEN"},
		{"export", 2, "accepts between 1 and 2"},
		{"export item --resume", 2, "--resume is of a file"},
		{"export item rows.txt", 2, "--format ndjson"},
		{"export item --filter status=open", 2, "[FIELD][OPERATOR]=VALUE"},
		{"export item --limit -1", 2, "--limit"},
		{"export item --sort nothing", 1, "invalid_query"},
		{"export nothing", 1, "entity_not_found"},
		{"export item --token x", 1, "ROWCAST_TOKEN"},
	} {
		got := run(t, append([]string{strings.Fields(c.args)[0], "--url", address, "--token", token}, strings.Fields(c.args)[1:]...)...)
		if got.status != c.status || got.stdout != "" || !strings.Contains(got.stderr, c.wants) {
			t.Errorf("%q: %+v, want %d and %q", c.args, got, c.status, c.wants)
		}
	}
	if left, err := filepath.Glob(rows + ".*"); err != nil || len(left) > 0 {
		t.Errorf("an import that was refused as a whole left %v %v", left, err)
	}
}
