package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// checkout makes a folder with files and goes there.
func checkout(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFormatNamesTheFilesToChange(t *testing.T) {
	checkout(t, map[string]string{"go.mod": "module x\n", "a.go": "package x\n", "sub/b.go": "package  y\n", "testdata/c.go": "not go"})
	err := run(t.Context(), []string{"--only", "format"}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "gofmt -w sub/b.go") || strings.Contains(err.Error(), "a.go") {
		t.Errorf("got %v, want it to name sub/b.go alone", err)
	}
}

func TestFuzzTargetsAreFoundInTheSource(t *testing.T) {
	checkout(t, map[string]string{
		"x_test.go":      "package x\n\nfunc FuzzRoot(f *testing.F) {}\n",
		"sub/y_test.go":  "package y\n\nfunc FuzzA(f *testing.F) {}\nfunc TestB(t *testing.T) {}\nfunc FuzzC(f *testing.F) {}\n",
		"sub/helpers.go": "package y\n\nfunc FuzzNot() {}\n",
	})
	got, err := fuzzTargets()
	want := []target{{"./sub", "FuzzA"}, {"./sub", "FuzzC"}, {"./.", "FuzzRoot"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestAStepThatIsNoneIsRefused(t *testing.T) {
	if err := run(t.Context(), []string{"--only", "vet,tests"}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), `"tests"`) {
		t.Errorf("got %v, want the name and those there are", err)
	}
}

func TestAFuzzThatFitsNothingFails(t *testing.T) {
	checkout(t, map[string]string{"go.mod": "module x\n"})
	if err := run(t.Context(), []string{"--only", "fuzz", "--fuzz", "none"}, io.Discard, io.Discard); err == nil {
		t.Error("nothing was fuzzed, and that passed")
	}
}

func TestEachLineOfAFuzzRunNamesItsTarget(t *testing.T) {
	var out strings.Builder
	var printing sync.Mutex
	v := &verdict{to: &labelled{&printing, &out, "FuzzA"}}
	for _, text := range []string{"one\ntw", "o\n", "--- FAIL: FuzzA (1s)\n    got 1\nFAIL\n"} {
		if _, err := v.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	failed := errors.New("exit status 1")
	if err := v.judge(failed); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	want := "FuzzA: one\nFuzzA: two\nFuzzA: --- FAIL: FuzzA (1s)\nFuzzA:     got 1\nFuzzA: FAIL\n"
	if out.String() != want {
		t.Errorf("\n got %q\nwant %q", out.String(), want)
	}
}
