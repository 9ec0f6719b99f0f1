package main

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var (
	here  = platform{"linux", runtime.GOARCH}
	tried = stamp{version: "v1.2.3", commit: "0123456789abcdef0123456789abcdef01234567", date: "2026-12-01T00:00:00Z"}
)

// checkout copies what a build needs, as an image's build is given it: without
// what .dockerignore names.
func checkout(t *testing.T, from string) (root string) {
	t.Helper()
	ignored := map[string]bool{}
	text, err := os.ReadFile("../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	for pattern := range strings.FieldsSeq(string(text)) {
		ignored[strings.TrimPrefix(pattern, "**/")] = true
	}
	root = t.TempDir()
	err = filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir() && (ignored[filepath.ToSlash(name)] || ignored[entry.Name()]):
			return filepath.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(root, name), 0o755)
		case !entry.Type().IsRegular() || ignored[entry.Name()] || strings.Contains(entry.Name(), ".db"):
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(root, name), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// released builds the binary of this platform and returns its place.
func released(t *testing.T, root string) (file string) {
	t.Helper()
	dir := t.TempDir()
	if err := release(t.Context(), root, dir, tried, []platform{here}, io.Discard); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, here.file())
}

func bytesOf(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The same commit gives the same bytes wherever it lies, and they are those of the
// image too. They are static and know their stamp.
func TestABuildIsTheSameEverywhere(t *testing.T) {
	root := checkout(t, "../..")
	file := released(t, root)
	binary := bytesOf(t, file)
	if again := bytesOf(t, released(t, checkout(t, root))); !bytes.Equal(binary, again) {
		t.Error("built in another folder it is another")
	}
	if image := bytesOf(t, imageBinary(t, root)); !bytes.Equal(binary, image) {
		t.Error("the Dockerfile builds another: compare its flags with those of build")
	}
	sums := bytesOf(t, filepath.Join(filepath.Dir(file), "SHA256SUMS"))
	if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(binary), here.file()); string(sums) != want {
		t.Errorf("got %s, want %s", sums, want)
	}
	checkStatic(t, file)
	if runtime.GOOS != here.os {
		return // built for another, and checked but for running it
	}
	said, err := exec.CommandContext(t.Context(), file, "version").CombinedOutput()
	want := "rowcast v1.2.3 0123456789ab 2026-12-01T00:00:00Z " + runtime.Version() + " " + here.String() + "\n"
	if err != nil || string(said) != want {
		t.Errorf("%v: got %s, want %s", err, said, want)
	}
}

func checkStatic(t *testing.T, file string) {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("not static: it has a %v", p.Type)
		}
	}
}

func TestPlatformsAreChosenByName(t *testing.T) {
	all, err := choose("")
	if err != nil || len(all) != 6 {
		t.Errorf("got %v, %v", all, err)
	}
	two, err := choose("windows/arm64,linux/amd64")
	if err != nil || len(two) != 2 || two[0].file() != "rowcast-windows-arm64.exe" || two[1].file() != "rowcast-linux-amd64" {
		t.Errorf("got %v, %v", two, err)
	}
	if _, err := choose("linux/386"); err == nil || !strings.Contains(err.Error(), "darwin/arm64") {
		t.Errorf("got %v; it should say which there are", err)
	}
}

func TestTheStampIsOfTheCommit(t *testing.T) {
	got, err := stampOf("v1.2.3-4-g0123456-dirty\n", "0123456789abcdef0123456789abcdef01234567 1796083200\n")
	want := stamp{version: "v1.2.3-4-g0123456-dirty", commit: tried.commit, date: tried.date}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := stampOf("v1", "nothing"); err == nil {
		t.Error("took what git does not show")
	}
}

func TestAVersionIsAWord(t *testing.T) {
	for _, version := range []string{"v1 -X main.date=x", "v1'", "a\nb"} {
		if err := run(t.Context(), []string{"--version", version, "--out", t.TempDir()}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "one word") {
			t.Errorf("%q: got %v", version, err)
		}
	}
}
