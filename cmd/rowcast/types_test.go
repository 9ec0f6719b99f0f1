package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// everyType is a schema with a field of every type.
const everyType = "../../internal/typegen/testdata"

// typed writes a boot document of the schema with every type.
func typed(t *testing.T) (config string) {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(everyType, "schema.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "schema.yaml"), string(text))
	config = filepath.Join(dir, "rowcast.yaml")
	write(t, config, `listen: 127.0.0.1:0
auth: {jwt: [{secret: 0123456789abcdef0123456789abcdef}]}
tenants: {main: {schema: ./schema.yaml, datastores: {main: {driver: sqlite, path: ./main.db}}}}
`)
	return config
}

func TestTypesWritesToStdoutOrAFile(t *testing.T) {
	config := typed(t)
	for lang, golden := range map[string]string{"ts": "types.ts", "go": "types.go.txt"} {
		want, err := os.ReadFile(filepath.Join(everyType, golden))
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, "types", "--lang", lang, "--config", config); got != (result{string(want), "", 0}) {
			t.Errorf("%s: got %+v", lang, got)
		}
		file := filepath.Join(t.TempDir(), golden)
		if got := run(t, "types", "--lang", lang, "--config", config, "--out", file); got != (result{"", "", 0}) {
			t.Errorf("%s: got %+v", lang, got)
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n%s", lang, err, got)
		}
	}
}

func TestTypesIsToldWhatToWrite(t *testing.T) {
	two := filepath.Join(t.TempDir(), "rowcast.yaml")
	write(t, two, `auth: {jwt: [{secret: 0123456789abcdef0123456789abcdef}]}
tenants:
  a: {schema: ./a.yaml, datastores: {main: {driver: sqlite, path: ./a.db}}}
  b: {schema: ./b.yaml, datastores: {main: {driver: sqlite, path: ./b.db}}}
`)
	for _, name := range []string{"a", "b"} {
		write(t, filepath.Join(filepath.Dir(two), name+".yaml"), "entities: [{name: of_"+name+", fields: [{name: id}]}]\n")
	}
	for _, c := range []struct {
		args   string
		status int
		wants  string
	}{
		{"types --config " + shop, 2, "write ts or go"},
		{"types --lang rust --config " + shop, 2, "write ts or go"},
		{"types --lang go --package func --config " + shop, 2, "cannot name a package"},
		{"types --lang ts --tenant nobody --config " + shop, 1, "acme:test:shop:t1"},
		{"types --lang ts --config " + two, 1, "name one of a, b"},
		{"types --lang ts --config " + refused(t), 1, "unknown key"},
	} {
		if got := run(t, strings.Fields(c.args)...); got.status != c.status || got.stdout != "" || !strings.Contains(got.stderr, c.wants) {
			t.Errorf("%s: got %+v, want status %d and %q", c.args, got, c.status, c.wants)
		}
	}
	if got := run(t, "types", "--lang", "go", "--config", two, "--tenant", "b"); got.status != 0 || !strings.Contains(got.stdout, "type OfB struct") {
		t.Errorf("got %+v", got)
	}
}

// program has the types of the schema beside it. It makes bodies, and reads what it
// is sent into the type that stands before it, which must know every member.
const program = `package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	say(ThingCreate{
		Title: "a <b> & \u2028", State: Some(ThingStateInProgress), Count: new(int32), Size: ptr(int64(9007199254740993)), Ratio: ptr(1e-7), Done: ptr(true),
		Due: ptr("2026-02-28"), BegunAt: ptr(time.Date(2026, 2, 28, 9, 30, 0, 120000000, time.FixedZone("", 3600))), EndedAt: &time.Time{},
		Extra: json.RawMessage("{\"b\":1.0,\"a\":[null]}"), Tags: json.RawMessage("[]"), Picture: []byte{0, 255}, Card: "4242", OwnerID: Some("ann"),
	})
	say(ThingCreate{Title: "least", Picture: []byte{}, Card: "1", State: Null[ThingState]()})
	say(ThingPatch{Title: ptr("changed"), Count: Null[int32](), Extra: Null[json.RawMessage](), Notes: Some("n"), Done: Some(true)})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		into := map[string]any{"row": &Thing{}, "all": &ThingAllEvent{}, "ids": &ThingIdsEvent{}, "finished": &ThingFinishedEvent{},
			"data": &ThingFinishedData{}, "channel": &ThingChannelEvent{}}[name]
		known := json.NewDecoder(strings.NewReader(text))
		known.DisallowUnknownFields()
		if err := known.Decode(into); err != nil {
			panic(err)
		}
		say(into)
	}
}

func say(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

func ptr[T any](v T) *T { return &v }
`

// goTypes is a running program.
type goTypes struct {
	in  io.Writer
	out *bufio.Scanner
}

func startGoTypes(t *testing.T, config string) goTypes {
	t.Helper()
	dir := t.TempDir()
	types, main, binary := filepath.Join(dir, "types.go"), filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if got := run(t, "types", "--lang", "go", "--package", "main", "--config", config, "--out", types); got.status != 0 {
		t.Fatalf("got %+v", got)
	}
	write(t, main, program)
	for _, args := range [][]string{{"vet", types, main}, {"build", "-o", binary, types, main}} {
		if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", args[0], err, out)
		}
	}
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // what it could not read it has said
	})
	return goTypes{in, bufio.NewScanner(out)}
}

func (g goTypes) next(t *testing.T) string {
	t.Helper()
	if !g.out.Scan() {
		t.Fatal("the program said nothing more")
	}
	return g.out.Text()
}

// keeps checks that the program's types hold all of what the server said.
func (g goTypes) keeps(t *testing.T, kind, text string) {
	t.Helper()
	if _, err := fmt.Fprintln(g.in, kind, strings.TrimSpace(text)); err != nil {
		t.Fatal(err)
	}
	if got := g.next(t); !reflect.DeepEqual(tree(t, got), tree(t, text)) {
		t.Errorf("%s:\n got %s\nwant %s", kind, got, text)
	}
}

// tree is JSON with its numbers as they are written.
func tree(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// The types in Go hold what a server says, whole, and a server takes what they say.
func TestTypesInGoAreThoseOfAServer(t *testing.T) {
	config := typed(t)
	types := startGoTypes(t, config)
	server := start(t, "serve", "--config", config)
	url := server.line(t, `^listening on (\S+)$`)[1]
	token := "Bearer " + strings.TrimSpace(run(t, "token", "--config", config, "--sub", "sam", "--roles", "staff").stdout)
	open := func(path string) *bufio.Scanner {
		frames := bufio.NewScanner(send(t, "GET", url+path, token, "").Body)
		await(t, frames, ": subscribed ")
		return frames
	}
	streams := map[string]*bufio.Scanner{
		"all": open("/subscribe/thing?name=all"), "ids": open("/subscribe/thing?name=ids"),
		"finished": open("/subscribe/thing?name=finished"), "channel": open("/realtime?channel=thing"),
	}
	frame := func(kind string) string {
		text := strings.TrimPrefix(await(t, streams[kind], "data: "), "data: ")
		types.keeps(t, kind, text)
		return text
	}
	do := func(method, path, body string, status int) string {
		answer := send(t, method, url+path, token, body)
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != status {
			t.Fatalf("%s %s %s: status %d %v\n%s", method, path, body, answer.StatusCode, err, text)
		}
		return string(text)
	}

	whole, little, patch := types.next(t), types.next(t), types.next(t)
	full := do("POST", "/data/thing", whole, http.StatusCreated)
	least := do("POST", "/data/thing", little, http.StatusCreated)
	for _, row := range []string{full, least} {
		types.keeps(t, "row", row)
		frame("all")
		frame("ids")
		frame("channel")
	}
	path := "/data/thing/" + tree(t, full).(map[string]any)["id"].(string)
	patched := do("PATCH", path, patch, http.StatusOK)
	types.keeps(t, "row", patched)
	if got := tree(t, full).(map[string]any)["ended_at"]; got != "0001-01-01T00:00:00Z" {
		t.Errorf("the first instant is %v", got)
	}
	for field, want := range map[string]any{"title": "changed", "count": nil, "extra": nil, "notes": "n", "size": json.Number("9007199254740993")} {
		if got := tree(t, patched).(map[string]any)[field]; got != want {
			t.Errorf("after the patch %s is %v, want %v", field, got, want)
		}
	}
	frame("all")
	frame("channel")
	data := tree(t, frame("finished")).(map[string]any)["data"]
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	types.keeps(t, "data", string(text))
	do("DELETE", path, "", http.StatusNoContent)
	frame("all")
	frame("ids")
	frame("channel")
	server.end(t, syscall.SIGTERM)
}
