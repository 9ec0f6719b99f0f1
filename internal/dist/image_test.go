package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// step is one instruction of the Dockerfile.
type step struct{ word, rest string }

// stages reads the Dockerfile: its steps from one FROM to the next.
func stages(t *testing.T) (all [][]step) {
	t.Helper()
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if word == "FROM" {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], step{word, rest})
	}
	if len(all) != 2 {
		t.Fatalf("%d stages", len(all))
	}
	return all
}

// the returns what stands behind the only step of that word.
func the(t *testing.T, stage []step, word string) string {
	t.Helper()
	var found []string
	for _, s := range stage {
		if s.word == word {
			found = append(found, s.rest)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d steps %s", len(found), word)
	}
	return found[0]
}

// imageBinary runs the steps of the first stage on a checkout, and returns the
// binary that they leave.
func imageBinary(t *testing.T, root string) string {
	t.Helper()
	out := t.TempDir()
	for _, s := range stages(t)[0] {
		if s.word != "RUN" || s.rest == "go mod download" { // they are there already
			continue
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", regexp.MustCompile(` /(out|folders)\b`).ReplaceAllString(s.rest, " "+out+"/$1"))
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOFLAGS=", "TARGETOS="+here.os, "TARGETARCH="+here.arch,
			"VERSION="+tried.version, "COMMIT="+tried.commit, "DATE="+tried.date)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", s.rest, err, said)
		}
	}
	for _, folder := range []string{the(t, stages(t)[1], "VOLUME"), "/tmp"} {
		if info, err := os.Stat(filepath.Join(out, "folders", folder)); err != nil || !info.IsDir() {
			t.Errorf("no %s, which a user that is not root could not make: %v", folder, err)
		}
	}
	return filepath.Join(out, "out", "rowcast")
}

// The first stage builds with the Go of go.mod, from files that there are.
func TestTheImageIsBuiltFromWhatIsHere(t *testing.T) {
	build := stages(t)[0]
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(module))[1]
	if from := the(t, build, "FROM"); !strings.HasSuffix(from, " golang:"+version+" AS build") {
		t.Errorf("FROM %s, and go.mod wants Go %s", from, version)
	}
	for _, s := range build {
		if s.word != "COPY" {
			continue
		}
		files := strings.Fields(s.rest)
		for _, file := range files[:len(files)-1] {
			if _, err := os.Stat(filepath.Join("../..", file)); err != nil {
				t.Errorf("COPY %s: %v", s.rest, err)
			}
		}
	}
}

// The image has the binary, certificates and two folders, no root, and a probe.
func TestTheImageIsBare(t *testing.T) {
	image := stages(t)[1]
	if from := the(t, image, "FROM"); from != "scratch" {
		t.Errorf("FROM %s", from)
	}
	var copied []string
	for _, s := range image {
		switch s.word {
		case "COPY":
			copied = append(copied, s.rest)
		case "RUN", "ADD":
			t.Errorf("%s %s: there is no shell in it", s.word, s.rest)
		}
	}
	user := the(t, image, "USER")
	if !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(user) {
		t.Errorf("USER %s: not by number, or root", user)
	}
	want := []string{
		"--from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/",
		"--from=build --chown=" + user + " /folders/ /",
		"--from=build /out/rowcast /rowcast",
	}
	if !slices.Equal(copied, want) {
		t.Errorf("copies %q, want %q", copied, want)
	}
	if data, dir := the(t, image, "VOLUME"), the(t, image, "WORKDIR"); data != dir+"/data" {
		t.Errorf("VOLUME %s, and a path ./data of a boot document in %s is another", data, dir)
	}
	_, probe, _ := strings.Cut(the(t, image, "HEALTHCHECK"), " CMD ")
	for name, said := range map[string]string{`["/rowcast"]`: the(t, image, "ENTRYPOINT"), `["serve"]`: the(t, image, "CMD"), `["/rowcast","ready"]`: probe} {
		var got, wanted []string
		if json.Unmarshal([]byte(said), &got) != nil || json.Unmarshal([]byte(name), &wanted) != nil || !slices.Equal(got, wanted) {
			t.Errorf("got %s, want %s", said, name)
		}
	}
}
