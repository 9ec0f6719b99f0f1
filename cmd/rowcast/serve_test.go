package main_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds what a test waits for.
const patience = 20 * time.Second

// process is a command that keeps running.
type process struct {
	cmd    *exec.Cmd
	stdout *bufio.Scanner
	stderr bytes.Buffer
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	p := &process{cmd: exec.CommandContext(ctx, binary, args...)}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = &p.stderr
	p.stdout = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	return p
}

// line reads on to the first line of stdout that matches, and returns its groups.
func (p *process) line(t *testing.T, pattern string) []string {
	t.Helper()
	want := regexp.MustCompile(pattern)
	for p.stdout.Scan() {
		if groups := want.FindStringSubmatch(p.stdout.Text()); groups != nil {
			return groups
		}
	}
	t.Fatalf("no line %q; stderr:\n%s", pattern, p.stderr.String())
	return nil
}

// end sends the signal and returns the exit status.
func (p *process) end(t *testing.T, signal os.Signal) int {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	for p.stdout.Scan() { // what is still said
	}
	_ = p.cmd.Wait() // its error is the status
	return p.cmd.ProcessState.ExitCode()
}

// anyPort copies a folder and lets its boot document listen on any free port.
func anyPort(t *testing.T, from string) (config string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil { // of whoever tried the example here
		t.Fatal(err)
	}
	config = filepath.Join(dir, "rowcast.yaml")
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, config, strings.Replace(string(data), "127.0.0.1:8080", "127.0.0.1:0", 1))
	return config
}

func initialised(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "notes")
	if got := run(t, "init", dir); got.status != 0 {
		t.Fatalf("init: %+v", got)
	}
	return dir
}

// What development mode prints works when pasted: the stream shows the row.
func TestThePrintedCommandsShowAFrame(t *testing.T) {
	for name, from := range map[string]string{"the shop": "../../examples/shop", "init": initialised(t)} {
		t.Run(name, func(t *testing.T) {
			server := start(t, "serve", "--config", anyPort(t, from))
			url := server.line(t, `^listening on (http://127\.0\.0\.1:\d+)$`)[1]
			open := server.line(t, `^curl -sN -H 'Authorization: (Bearer \S+)' '(\S+)'$`)
			post := server.line(t, `^curl -s -H 'Authorization: (Bearer \S+)' -H 'Content-Type: application/json' -d '(\S+)' '(\S+)'$`)
			if !strings.HasPrefix(open[2], url) || !strings.HasPrefix(post[3], url) {
				t.Fatalf("not of %s: %s %s", url, open[2], post[3])
			}
			stream := send(t, "GET", open[2], open[1], "")
			frames := bufio.NewScanner(stream.Body)
			await(t, frames, ": subscribed ")
			created := send(t, "POST", post[3], post[1], post[2])
			row, err := io.ReadAll(created.Body)
			if err != nil || created.StatusCode != http.StatusCreated {
				t.Fatalf("status %d: %s %v", created.StatusCode, row, err)
			}
			if got := await(t, frames, "data: "); !strings.HasSuffix(got, `"data":`+string(row)+"}") {
				t.Errorf("frame %s\nrow %s", got, row)
			}
			if status := server.end(t, syscall.SIGTERM); status != 0 {
				t.Errorf("status %d; %s", status, server.stderr.String())
			}
			await(t, frames, ": closing, reconnect")
		})
	}
}

func send(t *testing.T, method, url, authorization, body string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func await(t *testing.T, lines *bufio.Scanner, prefix string) string {
	t.Helper()
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), prefix) {
			return lines.Text()
		}
	}
	t.Fatalf("no line %q: %v", prefix, lines.Err())
	return ""
}

func TestBothTokensAreGood(t *testing.T) {
	server := start(t, "serve", "--config", anyPort(t, "../../examples/shop"))
	url := server.line(t, `^listening on (\S+)$`)[1]
	server.line(t, `ann \(a plain user\)`)
	ann := "Bearer " + server.line(t, `^  (eyJ\S+)$`)[1]
	server.line(t, `sam \(roles staff, admin\)`)
	sam := "Bearer " + server.line(t, `^  (eyJ\S+)$`)[1]
	for _, c := range []struct {
		token, path string
		status      int
	}{{ann, "/data/order", 200}, {ann, "/admin/data/streams", 403}, {sam, "/admin/data/streams", 200}, {sam, "/metrics", 200}, {"Bearer x", "/data/order", 401}} {
		if got := send(t, "GET", url+c.path, c.token, ""); got.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d", c.path, got.StatusCode, c.status)
		}
	}
	if status := server.end(t, os.Interrupt); status != 0 {
		t.Errorf("status %d; %s", status, server.stderr.String())
	}
}

func TestServeOnATakenPortIsStatusOne(t *testing.T) {
	first := start(t, "serve", "--config", anyPort(t, "../../examples/shop"))
	url := first.line(t, `^listening on (\S+)$`)[1]
	config := anyPort(t, "../../examples/shop")
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, config, strings.Replace(string(data), "127.0.0.1:0", strings.TrimPrefix(url, "http://"), 1))
	if got := run(t, "serve", "--config", config); got.status != 1 || !strings.Contains(got.stderr, "address already in use") {
		t.Errorf("got %+v", got)
	}
	first.end(t, syscall.SIGTERM)
}

func TestTailPrintsFramesAndSaysWhereToGoOn(t *testing.T) {
	config := anyPort(t, "../../examples/shop")
	server := start(t, "serve", "--config", config)
	url := server.line(t, `^listening on (\S+)$`)[1]
	token := strings.TrimSpace(run(t, "token", "--config", config, "--sub", "ann").stdout)
	post := func(title string) {
		send(t, "POST", url+"/data/order", "Bearer "+token, `{"status":"open","title":"`+title+`"}`)
	}
	// A stream of its own tells when one is open; tail is told to begin at an event already there.
	probe := send(t, "GET", url+"/subscribe/order?name=mine", "Bearer "+token, "")
	frames := bufio.NewScanner(probe.Body)
	await(t, frames, ": subscribed ")
	post("zero")
	since := strings.TrimPrefix(await(t, frames, "id: 0"), "id: ")

	post("one")
	tail := start(t, "tail", "order", "--url", url, "--token", token, "--name", "mine", "--since", since)
	id := tail.line(t, `^id: (\S+)$`)[1]
	tail.line(t, `^event: entity.create$`)
	tail.line(t, `^data: .*"title":"one"`)
	if status := tail.end(t, os.Interrupt); status != 0 || !strings.Contains(tail.stderr.String(), "to go on: --since '") {
		t.Errorf("status %d; %s", status, tail.stderr.String())
	}

	post("two")
	again := start(t, "tail", "order", "--url", url, "--token", token, "--name", "mine", "--since", id, "--json")
	again.line(t, `^\{.*"title":"two"`)
	again.end(t, syscall.SIGTERM)
	server.end(t, syscall.SIGTERM)
}

func TestTailIsRefusedWithTheServersWords(t *testing.T) {
	config := anyPort(t, "../../examples/shop")
	server := start(t, "serve", "--config", config)
	url := server.line(t, `^listening on (\S+)$`)[1]
	token := strings.TrimSpace(run(t, "token", "--config", config, "--sub", "ann").stdout)
	got := run(t, "tail", "order", "--url", url, "--token", token)
	if got.status != 1 || got.stdout != "" || !strings.Contains(got.stderr, "subscription_ambiguous") || !strings.Contains(got.stderr, "mine") {
		t.Errorf("got %+v", got)
	}
	server.end(t, syscall.SIGTERM)
}

// tail follows a channel too: by its filter, live, and again from where it stood.
func TestTailFollowsAChannel(t *testing.T) {
	server := start(t, "serve", "--config", anyPort(t, "../../examples/board"))
	url := server.line(t, `^listening on (\S+)$`)[1]
	create := func(row string) {
		if got := send(t, "POST", url+"/data/task", "", row); got.StatusCode != http.StatusCreated {
			t.Fatalf("%s: status %d", row, got.StatusCode)
		}
	}
	probe := send(t, "GET", url+"/realtime?channel=task", "", "")
	frames := bufio.NewScanner(probe.Body)
	await(t, frames, ": subscribed ")
	create(`{"title":"zero"}`)
	since := strings.TrimPrefix(await(t, frames, "id: 0"), "id: ")

	create(`{"title":"one, not done"}`)
	create(`{"title":"two, done","status":"done","points":3}`)
	create(`{"title":"three, done","status":"done"}`)
	tail := start(t, "tail", "--channel", "task", "--url", url, "--since", since, "--fields", "title",
		"--filter", `[status][eq]=done`, "--filter", `{"points":{"isNotNull":true}}`)
	id := tail.line(t, `^id: (\S+)$`)[1]
	tail.line(t, `^event: created$`)
	tail.line(t, `^data: .*"item":\{"title":"two, done"\}\}$`)
	create(`{"title":"four, done","status":"done","points":1}`)
	tail.line(t, `^data: .*"title":"four, done"`)
	if status := tail.end(t, os.Interrupt); status != 0 || !strings.Contains(tail.stderr.String(), "to go on: --since '") {
		t.Errorf("status %d; %s", status, tail.stderr.String())
	}
	again := start(t, "tail", "--channel", "task", "--url", url, "--since", id, "--json")
	again.line(t, `^\{"event":"created".*"title":"three, done"`)
	again.end(t, syscall.SIGTERM)
	server.end(t, syscall.SIGTERM)
}

func TestTailIsToldOneThingToFollow(t *testing.T) {
	for _, c := range []struct {
		args  string
		wants string
	}{
		{"tail", "tail ENTITY"},
		{"tail order --channel order", "leave them out"},
		{"tail --channel order --name mine", "leave them out"},
		{"tail --channel order --ops create", "leave them out"},
		{"tail order --filter [a][eq]=1", "--channel"},
		{"tail order --fields id", "--channel"},
		{"tail --channel order --filter status=open", "[FIELD][OPERATOR]=VALUE"},
		{"tail --channel order --filter [status][eq]", "[FIELD][OPERATOR]=VALUE"},
	} {
		got := run(t, strings.Fields(c.args)...)
		if got.status != 2 || got.stdout != "" || !strings.Contains(got.stderr, c.wants) {
			t.Errorf("%s: got %+v, want a refusal that says %q", c.args, got, c.wants)
		}
	}
}
