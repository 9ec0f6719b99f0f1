package docs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/servertest"
	"github.com/rowcast/rowcast/webhook"
)

// patience bounds every wait for what must come.
const patience = 2 * time.Minute

const (
	hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	oldSecret  = "the-secret-before-this"
)

// receivers are those of the guide: how each is found there and run, which
// headers it goes by, and whether what it remembers outlives it.
var receivers = []struct {
	name, language, contains string
	program, file, install   string // program runs file; "": Go builds it
	headers                  []string
	signsID, durable         bool
}{
	{name: "Go, with the package", language: "go", contains: "webhook.Middleware(", file: "main.go", signsID: true,
		headers: []string{"X-Kisai-Timestamp", "webhook-id", "webhook-timestamp", "webhook-signature"}},
	{name: "Go, without it", language: "go", contains: "func verifies(", file: "main.go",
		headers: []string{"X-Kisai-Timestamp", "X-Kisai-Signature"}},
	{name: "Node", language: "js", contains: "node:crypto", program: "node", file: "receiver.mjs", install: "nodejs", signsID: true,
		headers: []string{"webhook-id", "webhook-timestamp", "webhook-signature"}},
	{name: "Python", language: "python", contains: "import base64, hashlib, hmac", program: "python3", file: "receiver.py", install: "python3", signsID: true, durable: true,
		headers: []string{"webhook-id", "webhook-timestamp", "webhook-signature"}},
}

// The receivers of the guide take what is genuine, once, and refuse what is not:
// the very blocks of the page, run as a reader would.
func TestTheGuidesReceivers(t *testing.T) {
	for _, c := range receivers {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, c.file)
			write(t, file, block(t, c.language, c.contains))
			command := []string{c.program, file}
			if c.program == "" {
				command = []string{built(t, file)}
			} else if _, err := exec.LookPath(c.program); err != nil {
				t.Fatalf("%s is not installed; this test runs a receiver with it (Debian: apt-get install %s)", c.program, c.install)
			}
			r := run(t, dir, command...)
			r.takesEachOnce(t)
			r.refusesForgeries(t, c.headers)
			r.refusesLargeBodies(t, c.program == "")
			// With all that behind it, it still works; by another id only who signs ids is not deceived.
			want := 1
			if got := r.send(t, "U9", event("e1"), time.Now(), nil, hookSecret); got.StatusCode/100 != 2 {
				t.Errorf("another delivery: %s", got.Status)
			}
			if !c.signsID {
				want = 0 // it remembers the event, and has seen it
			}
			r.handles(t, want, "the same event as another delivery")
			if c.durable {
				r.stop(t)
				r = run(t, dir, command...)
				if got := r.send(t, "U9", event("e1"), time.Now(), nil, hookSecret); got.StatusCode/100 != 2 {
					t.Errorf("again, after a restart: %s", got.Status)
				}
				r.handles(t, 0, "a repeat after a restart")
			}
		})
	}
}

// block returns the one block of the guide in that language with that text.
func block(t *testing.T, language, contains string) string {
	t.Helper()
	_, fences := read(t, "docs/guides/webhooks.md").split()
	var found []string
	for _, f := range fences {
		if f.language == language && strings.Contains(f.text, contains) {
			found = append(found, f.text)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d blocks of %s with %q, want one", len(found), language, contains)
	}
	return found[0]
}

// built compiles a Go program of the page.
func built(t *testing.T, file string) string {
	t.Helper()
	program := strings.TrimSuffix(file, ".go")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, file)
	cmd.Dir = ".." // where the module is
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// receiver is a program of the page that runs.
type receiver struct {
	url  string
	cmd  *exec.Cmd
	said *bufio.Scanner // its stdout, in which each thing handled is a line
	log  bytes.Buffer
}

// run starts one on any port, and has it ended with the test.
func run(t *testing.T, dir string, command ...string) *receiver {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	r := &receiver{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	r.cmd.Dir, r.cmd.Stderr = dir, &r.log
	r.cmd.Env = append(os.Environ(), "PORT=0", "WEBHOOK_SECRETS="+hookSecret+" "+oldSecret)
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = r.cmd.Wait() // it was killed, or has ended before
	})
	r.said = bufio.NewScanner(out)
	url, ok := strings.CutPrefix(r.line(), "listening on ")
	if !ok {
		t.Fatalf("it does not say where it listens:\n%s", r.log.String())
	}
	r.url = url
	return r
}

func (r *receiver) stop(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for r.said.Scan() { // to its end
	}
}

func (r *receiver) line() string {
	r.said.Scan()
	return r.said.Text()
}

func event(id string) string {
	return fmt.Sprintf(`{"id":%q,"type":"entity.create","entity":"note","operation":"create","subject":"n-%s","tenant":"main","data":{"text":"grüße 🔑"}}`, id, id)
}

// send posts one attempt, which change may spoil.
func (r *receiver) send(t *testing.T, id, body string, when time.Time, change func(*http.Request), secrets ...string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/hooks", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	webhook.SetHeaders(req.Header, webhook.Delivery{ID: id, Topic: "entity.note", Event: "entity.create"}, secrets, when, []byte(body))
	if change != nil {
		change(req)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%v; it said\n%s", err, r.log.String())
	}
	_, _ = io.Copy(io.Discard, resp.Body) // what it answers counts for nothing
	_ = resp.Body.Close()
	return resp
}

// handles says how many events have been handled since it was last asked: it sends
// one more, whose line comes after theirs.
func (r *receiver) handles(t *testing.T, want int, what string) {
	t.Helper()
	mark := fmt.Sprintf("mark-%d", time.Now().UnixNano())
	if got := r.send(t, "U"+mark, event(mark), time.Now(), nil, hookSecret); got.StatusCode/100 != 2 {
		t.Fatalf("a genuine delivery after %s: %s; it said\n%s", what, got.Status, r.log.String())
	}
	handled := 0
	for {
		switch line := r.line(); {
		case line == "handled entity.create n-"+mark:
			if handled != want {
				t.Errorf("%s: handled %d, want %d", what, handled, want)
			}
			return
		case strings.HasPrefix(line, "handled entity.create n-"):
			handled++
		default:
			t.Fatalf("%s: it says %q and\n%s", what, line, r.log.String())
		}
	}
}

func (r *receiver) takesEachOnce(t *testing.T) {
	t.Helper()
	now := time.Now()
	for name, c := range map[string]struct {
		when    time.Time
		secrets []string
	}{
		"signed now":                         {now, []string{hookSecret}},
		"signed a while ago":                 {now.Add(-4 * time.Minute), []string{hookSecret}},
		"by a clock that is a bit ahead":     {now.Add(4 * time.Minute), []string{hookSecret}},
		"by the old secret":                  {now, []string{oldSecret}},
		"by both, in a rotation":             {now, []string{hookSecret, oldSecret}},
		"by both, the other way around":      {now, []string{oldSecret, hookSecret}},
		"by the new, and one not known here": {now, []string{hookSecret, "the-secret-after-that"}},
	} {
		if got := r.send(t, "U1", event("e1"), c.when, nil, c.secrets...); got.StatusCode/100 != 2 {
			t.Errorf("%s: %s", name, got.Status)
		}
	}
	r.handles(t, 1, "seven attempts at one delivery")
}

// refusesForgeries spoils a genuine delivery in every way that a receiver of these
// headers has to see.
func (r *receiver) refusesForgeries(t *testing.T, headers []string) {
	t.Helper()
	type forgery struct {
		when   time.Time
		change func(*http.Request)
		secret string
	}
	now := time.Now()
	set := func(names []string, value string) func(*http.Request) {
		return func(req *http.Request) {
			for _, name := range names {
				req.Header.Set(name, value)
			}
		}
	}
	timestamps, signatures := []string{"X-Kisai-Timestamp", "webhook-timestamp"}, []string{"X-Kisai-Signature", "webhook-signature"}
	forgeries := map[string]forgery{
		"another secret":                {now, nil, "some-other-secret"},
		"the key of the secret as text": {now, nil, hookSecret[len("whsec_"):]},
		"another body": {now, func(req *http.Request) {
			req.Body = io.NopCloser(strings.NewReader(strings.Replace(event("f"), "create", "delete", 1)))
		}, hookSecret},
		"an old timestamp":            {now.Add(-6 * time.Minute), nil, hookSecret},
		"a timestamp of the future":   {now.Add(6 * time.Minute), nil, hookSecret},
		"a newer timestamp":           {now.Add(-time.Hour), set(timestamps, fmt.Sprint(now.Unix())), hookSecret},
		"a timestamp that is none":    {now, set(timestamps, "now"), hookSecret},
		"a negative timestamp":        {now, set(timestamps, fmt.Sprint(-now.Unix())), hookSecret},
		"a timestamp no number holds": {now, set(timestamps, strings.Repeat("9", 400)), hookSecret},
		"an empty signature":          {now, set(signatures, ""), hookSecret},
		"a version alone":             {now, set(signatures, "v1,"), hookSecret},
		"nothing but a body":          {now, func(req *http.Request) { clear(req.Header) }, hookSecret},
	}
	for _, name := range headers {
		forgeries["without "+name] = forgery{now, func(req *http.Request) { req.Header.Del(name) }, hookSecret}
		if name == "webhook-id" {
			forgeries["under another id"] = forgery{now, set([]string{name, "X-Kisai-Delivery"}, "U3"), hookSecret}
		}
		if strings.HasSuffix(strings.ToLower(name), "-signature") {
			forgeries["a changed "+name] = forgery{now, func(req *http.Request) {
				good := []byte(req.Header.Get(name))
				good[5] ^= 1
				req.Header.Set(name, string(good))
			}, hookSecret}
		}
	}
	for name, f := range forgeries {
		if got := r.send(t, "U2", event("f"), f.when, f.change, f.secret); got.StatusCode/100 != 4 {
			t.Errorf("%s: %s", name, got.Status)
		}
	}
	r.handles(t, 0, "forgeries")
}

// refusesLargeBodies announces more than is taken. Only where whole is set it is
// sent, too: a program that hangs up on what it has not read may cut off its own
// answer.
func (r *receiver) refusesLargeBodies(t *testing.T, whole bool) {
	t.Helper()
	body := strings.Repeat(" ", 1<<20+1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	webhook.SetHeaders(req.Header, webhook.Delivery{ID: "U4"}, []string{hookSecret}, time.Now(), []byte(body))
	var text bytes.Buffer
	if err := req.Write(&text); err != nil {
		t.Fatal(err)
	}
	if !whole {
		text.Truncate(text.Len() - len(body))
	}
	conn, err := net.Dial("tcp", req.URL.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write(text.Bytes()) // it may answer before it has all
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over 1 MiB: %s", resp.Status)
	}
	r.handles(t, 0, "a large body")
}

// What the guide has a newcomer append to the document of rowcast init is a target
// that check has nothing against.
func TestTheGuidesFirstTarget(t *testing.T) {
	m := regexp.MustCompile(`(?s)cat >> notes/rowcast\.yaml <<'END'\n(.*?)END\n`).FindStringSubmatch(block(t, "sh", "rowcast init notes"))
	if m == nil {
		t.Fatal("no document to append")
	}
	dir := filepath.Join(t.TempDir(), "notes")
	rowcast := func(args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), servertest.Binary(t), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("rowcast %v: %v\n%s", args, err, out)
		}
	}
	rowcast("init", dir)
	name := filepath.Join(dir, "rowcast.yaml")
	document, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, string(document)+m[1])
	rowcast("check", "--config", name)
}
