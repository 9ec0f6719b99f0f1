package main_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

var address = regexp.MustCompile(`listening on (http://[^,]+),`)

// The program is built and run as the page says: what is written over HTTP is in
// the file when it has ended, a line of JSON an event, in order.
func TestEventsGoToTheFile(t *testing.T) {
	dir := t.TempDir()
	binary, out := filepath.Join(dir, "transport-file"), filepath.Join(dir, "events.jsonl")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if text, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	board(t, dir)
	program := exec.CommandContext(t.Context(), binary, "-config", filepath.Join(dir, "rowcast.yaml"), "-out", out, "-listen", "127.0.0.1:0")
	program.Stderr = os.Stderr
	stdout, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Process.Kill() }()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	found := address.FindStringSubmatch(line)
	if err != nil || found == nil {
		t.Fatalf("it says %q, %v", line, err)
	}
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(send(t, "POST", found[1]+"/data/task", `{"title":"write it down"}`))[1]
	send(t, "POST", found[1]+"/data/task/"+id+"/finishOne", "")
	send(t, "DELETE", found[1]+"/data/task/"+id, "")
	if err := program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := program.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("got %d lines, want 3:\n%s", len(lines), text)
	}
	for i, want := range []string{`{"event":"created",`, `{"event":"updated",`, `{"event":"deleted",`} {
		if !strings.HasPrefix(lines[i], want) || !strings.Contains(lines[i], `"id":"`+id+`"`) {
			t.Errorf("line %d is %s, want %s…", i+1, lines[i], want)
		}
	}
}

// board copies the documents of examples/board, so that the test has data of its own.
func board(t *testing.T, dir string) {
	t.Helper()
	source := filepath.Join("..", "board")
	for _, name := range []string{"rowcast.yaml", filepath.Join("schema", "task.yaml")} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func send(t *testing.T, method, url, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s, %v", method, url, resp.StatusCode, text, err)
	}
	return string(text)
}
