package main_test

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func TestInitWritesAFolderThatServes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "notes")
	got := run(t, "init", dir)
	if got.status != 0 || !strings.Contains(got.stdout, "next: rowcast serve --config "+filepath.Join(dir, "rowcast.yaml")) {
		t.Fatalf("got %+v", got)
	}
	if got := run(t, "check", "--config", filepath.Join(dir, "rowcast.yaml")); got != (result{"ok\n", "", 0}) {
		t.Errorf("check: %+v", got)
	}
	info, err := os.Stat(filepath.Join(dir, "rowcast.yaml"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; it holds a secret", info.Mode(), err)
	}
}

func TestInitMakesANewSecretEachTime(t *testing.T) {
	var texts []string
	for _, name := range []string{"a", "b"} {
		dir := filepath.Join(t.TempDir(), name)
		run(t, "init", dir)
		data, err := os.ReadFile(filepath.Join(dir, "rowcast.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	if texts[0] == texts[1] || strings.Contains(texts[0], "@") {
		t.Error("the secret is not fresh")
	}
}

func TestInitLeavesAFullFolderAlone(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mine.txt"), "mine")
	got := run(t, "init", dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.status != 1 || !strings.Contains(got.stderr, "is not empty") || len(entries) != 1 {
		t.Errorf("got %+v, %d entries", got, len(entries))
	}
}

// uncommented takes the # away from the lines that the template says to, and
// returns the command above them that receives.
func uncommented(t *testing.T, config string) (receive []string) {
	t.Helper()
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	prose, lines, found := strings.Cut(string(text), "\n#events:")
	command := regexp.MustCompile(`(?m)^#   ROWCAST_WEBHOOK_SECRET=(\S+) rowcast (receive)$`).FindStringSubmatch(prose)
	if !found || command == nil {
		t.Fatalf("no target, or no command for it, in\n%s", text)
	}
	write(t, config, prose+"\nevents:"+strings.ReplaceAll(lines, "\n#", "\n"))
	return command[1:]
}

func TestInitsTargetCanBeTurnedOn(t *testing.T) {
	config := filepath.Join(initialised(t), "rowcast.yaml")
	uncommented(t, config)
	if got := run(t, "check", "--config", config); got != (result{"ok\n", "", 0}) {
		t.Errorf("check: %+v", got)
	}
}

// The target that is turned on posts to the receiver as the template says, and the
// channel tells the same change.
func TestInitsTargetAndChannelTellOfANote(t *testing.T) {
	config := anyPort(t, initialised(t))
	t.Setenv("ROWCAST_WEBHOOK_SECRET", uncommented(t, config)[0])
	receiver, hook := receiving(t)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, config, strings.Replace(string(text), "http://127.0.0.1:9000", hook, 1))
	server := start(t, "serve", "--config", config)
	url := server.line(t, `^listening on (\S+)$`)[1]
	token := strings.TrimSpace(run(t, "token", "--config", config, "--sub", "ann").stdout)
	frames := bufio.NewScanner(send(t, "GET", url+"/realtime?channel=note&filter[title][like]=a%25", "Bearer "+token, "").Body)
	await(t, frames, ": subscribed ")
	for _, title := range []string{"b", "a"} {
		if got := send(t, "POST", url+"/data/note", "Bearer "+token, `{"title":"`+title+`"}`); got.StatusCode != http.StatusCreated {
			t.Fatalf("status %d", got.StatusCode)
		}
		receiver.line(t, `entity\.create .* verified by .*answer 200`)
	}
	if got := await(t, frames, "data: "); !strings.Contains(got, `"title":"a"`) {
		t.Errorf("got %s", got)
	}
	server.end(t, syscall.SIGTERM)
	receiver.end(t, syscall.SIGTERM)
}
