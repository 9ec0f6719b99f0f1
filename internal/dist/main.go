// Command dist builds the binaries of a release: rowcast for each platform, static
// and stamped with version, commit and its date, and a file of checksums.
//
//	go run ./internal/dist                          all platforms, into dist
//	go run ./internal/dist --only linux/amd64       one of them
//	go run ./internal/dist --version v1.2.3         where there is no git to ask
//
// The same commit, version and Go give the same bytes, wherever the checkout lies
// and whenever it is built: no path, no time of the build and nothing of the machine is
// in them. It needs Go, and git unless it is told a version. It imports nothing of rowcast.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	flags.SetOutput(log)
	dir := flags.String("out", "dist", "`folder` to write to")
	only := flags.String("only", "", "comma-separated `platforms`, such as linux/amd64; all by default")
	version := flags.String("version", "", "`version` to stamp; what git describes by default")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	s := stamp{version: *version}
	switch {
	case strings.ContainsAny(s.version, " \t\r\n'\""):
		return fmt.Errorf("--version %q: one word, without quotes", s.version)
	case s.version == "":
		if s, err = ask(ctx); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(*dir, 0o755); err != nil { //nolint:gosec // a folder like any other of its owner
		return err
	}
	return release(ctx, ".", *dir, s, chosen, out)
}

// release builds the platforms from the checkout at root into dir, and then
// writes what each must hash to.
func release(ctx context.Context, root, dir string, s stamp, platforms []platform, out io.Writer) error {
	var sums strings.Builder
	for _, p := range platforms {
		file := filepath.Join(dir, p.file())
		if err := p.build(ctx, root, file, s); err != nil {
			return err
		}
		data, err := os.ReadFile(file) //nolint:gosec // what was just built
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), p.file())
		if _, err := fmt.Fprintln(out, file); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644) //nolint:gosec // for everybody to compare with
}

// build writes one binary.
func (p platform) build(ctx context.Context, root, file string, s stamp) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", s.flags(), "-o", file, "./cmd/rowcast") //nolint:gosec // of a platform of the list
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", p, err, said)
	}
	return nil
}
