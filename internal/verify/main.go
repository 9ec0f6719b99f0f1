// Command verify runs what a change must pass: the form of the code, vet, the
// linters, ten seconds of every fuzz target, and all tests. It needs Go. The
// other programs that the tests start (PostgreSQL, Chromium, PgBouncer, nginx, Caddy, Node.js, Python) it
// installs where they are missing, on Debian and as root; elsewhere it says which.
//
//	go run ./internal/verify                                   everything, as CI does
//	go run ./internal/verify --only format,vet,lint            what takes a minute
//	go run ./internal/verify --only needs                      install what the tests start
//	go run ./internal/verify --only fuzz --fuzztime 10m        a long fuzz
//	go run ./internal/verify --only soak --soaktime 1h         the tests, again and again
//
// It stops at the first step that fails. The tests come last, so that the last
// lines are go test's own. It imports nothing of rowcast.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/format"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
}

// job is one run of verify.
type job struct {
	out, log io.Writer
	fuzztime time.Duration
	soaktime time.Duration
	fuzz     string // a part of the names of the targets; "" is all
}

// step is one thing to pass.
type step struct {
	name string
	pass func(context.Context, job) error
	long bool // only where it is asked for
}

var steps = []step{
	{name: "format", pass: formatted},
	{name: "vet", pass: vet},
	{name: "lint", pass: lint},
	{name: "needs", pass: needs},
	{name: "fuzz", pass: fuzzAll},
	{name: "soak", pass: soak, long: true},
	{name: "test", pass: test},
}

func stepNames() []string {
	names := make([]string, 0, len(steps))
	for _, s := range steps {
		names = append(names, s.name)
	}
	return names
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	j := job{out: out, log: log}
	flags := flag.NewFlagSet("verify", flag.ContinueOnError)
	flags.SetOutput(log)
	only := flags.String("only", "", "comma-separated `steps` of "+strings.Join(stepNames(), ", ")+"; all but soak by default")
	flags.DurationVar(&j.soaktime, "soaktime", time.Hour, "how long the tests are repeated")
	flags.DurationVar(&j.fuzztime, "fuzztime", 10*time.Second, "how long each fuzz target runs")
	flags.StringVar(&j.fuzz, "fuzz", "", "only fuzz targets with this `text` in PACKAGE.NAME")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted := strings.Split(*only, ",")
	for _, name := range wanted {
		if *only != "" && !slices.Contains(stepNames(), name) {
			return fmt.Errorf("--only: no step %q; there are %s", name, strings.Join(stepNames(), ", "))
		}
	}
	if _, err := os.Stat("go.mod"); err != nil {
		return errors.New("run it at the root of the checkout")
	}
	for _, s := range steps {
		if *only == "" && s.long || *only != "" && !slices.Contains(wanted, s.name) {
			continue
		}
		_, _ = fmt.Fprintf(log, "== %s\n", s.name)
		if err := s.pass(ctx, j); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// command runs name with what j prints to; env is added to the environment.
func (j job) command(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...) // #nosec G204 -- the steps of this program
	cmd.Stdout, cmd.Stderr = j.out, j.log
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", filepath.Base(name), strings.Join(args, " "), err)
	}
	return nil
}

// formatted names the files that gofmt would change.
func formatted(_ context.Context, _ job) error {
	var wrong []string
	err := eachFile(func(name string) error {
		text, err := os.ReadFile(name) // #nosec G304 -- files of the checkout
		if err != nil {
			return err
		}
		want, err := format.Source(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !bytes.Equal(text, want) {
			wrong = append(wrong, name)
		}
		return nil
	})
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("run gofmt -w %s", strings.Join(wrong, " "))
	}
	return err
}

// eachFile calls visit with every Go file of the checkout.
func eachFile(visit func(name string) error) error {
	return filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"testdata", "bin", "out"}, entry.Name())):
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(name, ".go"):
			return visit(name)
		}
		return nil
	})
}

func vet(ctx context.Context, j job) error { return j.command(ctx, nil, "go", "vet", "./...") }

// test runs all tests, under the race detector where the machine can.
func test(ctx context.Context, j job) error { return testWith(ctx, j, nil) }

func testWith(ctx context.Context, j job, env []string) error {
	args := []string{"test", "-count=1", "-timeout=30m"}
	if race() {
		args = append(args, "-race")
	} else {
		_, _ = fmt.Fprintln(j.log, "no C compiler: the tests run without the race detector")
	}
	return j.command(ctx, env, "go", append(args, "./...")...)
}

// longer makes the tests that kill servers and throw dice go on for longer.
var longer = []string{"ROWCAST_KILLS=20", "ROWCAST_CHAOS=2m", "ROWCAST_CLUSTER=5m", "CONTRACT_WORLDS=40", "CONTRACT_PLOTS=200"}

// soak repeats the tests, the random ones at length, until the time is over;
// each round has to pass.
func soak(ctx context.Context, j job) error {
	for end := time.Now().Add(j.soaktime); time.Now().Before(end); {
		if err := testWith(ctx, j, longer); err != nil {
			return err
		}
	}
	return nil
}

// race reports whether go test -race can build here: it needs cgo.
func race() bool {
	enabled, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	if err != nil || strings.TrimSpace(string(enabled)) != "1" {
		return false
	}
	compiler, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		return false
	}
	_, err = exec.LookPath(strings.Fields(string(compiler) + " cc")[0])
	return err == nil
}
