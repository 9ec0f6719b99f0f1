package main_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// binary is the command as a user runs it.
var binary string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rowcast")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left lies in the system's temporary folder
	binary = filepath.Join(dir, "rowcast")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		panic(string(out))
	}
	return m.Run()
}

type result struct {
	stdout, stderr string
	status         int
}

// run runs one command line to its end.
func run(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

const shop = "../../examples/shop/rowcast.yaml"

func refused(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text := `listen: nowhere
auth:
  jwt: [{jwks: "https://id.example/keys"}]
tenants:
  t1:
    schema: ./schema
    datastores: {main: {driver: sqlite, path: t1.db}}
`
	write(t, filepath.Join(dir, "rowcast.yaml"), text)
	write(t, filepath.Join(dir, "schema", "a.yaml"), "entities:\n  - name: note\n    feilds: []\n")
	return filepath.Join(dir, "rowcast.yaml")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	for _, command := range []string{"", "serve", "check", "token", "tail", "receive", "import", "export", "ready", "types", "init", "version"} {
		t.Run(command, func(t *testing.T) {
			got := run(t, strings.Fields(command+" --help")...)
			if got.status != 0 || !strings.Contains(got.stdout, "Examples:\n  ") || got.stderr != "" {
				t.Errorf("status %d\n%s%s", got.status, got.stdout, got.stderr)
			}
			if command != "" && !strings.Contains(run(t, "--help").stdout, "\n  "+command+" ") {
				t.Error("not listed")
			}
		})
	}
}

func TestWrongUseIsStatusTwo(t *testing.T) {
	for _, args := range []string{"unknown", "check --nope", "check extra", "token", "tail", "receive extra", "init", "serve --config"} {
		t.Run(args, func(t *testing.T) {
			got := run(t, strings.Fields(args)...)
			if got.status != 2 || got.stdout != "" || !strings.Contains(got.stderr, "--help") {
				t.Errorf("status %d\n%s%s", got.status, got.stdout, got.stderr)
			}
		})
	}
}

func TestCheckSaysOK(t *testing.T) {
	if got := run(t, "check", "--config", shop); got != (result{"ok\n", "", 0}) {
		t.Errorf("got %+v", got)
	}
}

func TestCheckAndServeRefuseWithTheSameLines(t *testing.T) {
	config := refused(t)
	check, serve := run(t, "check", "--config", config), run(t, "serve", "--config", config)
	if check != serve {
		t.Errorf("check %+v\nserve %+v", check, serve)
	}
	if check.status != 1 || check.stdout != "" {
		t.Errorf("got %+v", check)
	}
	for _, want := range []string{
		config + ":1:9: not an address",
		"    listen: nowhere\n            ^\n",
		filepath.Join(filepath.Dir(config), "schema", "a.yaml") + ":3:5: ",
	} {
		if !strings.Contains(check.stderr, want) {
			t.Errorf("%q is not in\n%s", want, check.stderr)
		}
	}
}

func TestVersionNamesToolchainAndPlatform(t *testing.T) {
	if got := run(t, "version"); got.status != 0 || !strings.HasPrefix(got.stdout, "rowcast ") || !strings.Contains(got.stdout, " go1.") {
		t.Errorf("got %+v", got)
	}
}
