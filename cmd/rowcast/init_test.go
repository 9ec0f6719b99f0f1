package main_test

import (
	"os"
	"path/filepath"
	"strings"
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
