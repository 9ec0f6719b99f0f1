package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// linter is pinned, so that what passes today passes tomorrow. It is not a
// dependency of the module: its two hundred modules would be everybody's.
const (
	linterModule  = "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
	linterVersion = "v2.15.0"
)

// lint runs golangci-lint as .golangci.yml says. The first run builds it into
// bin/, which takes some minutes.
func lint(ctx context.Context, j job) error {
	binary, err := filepath.Abs(filepath.Join("bin", "golangci-lint-"+linterVersion))
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
		if err := buildLinter(ctx, j, binary); err != nil {
			return fmt.Errorf("build the linter: %w", err)
		}
	}
	return j.command(ctx, nil, binary, "run", "--timeout=15m", "./...")
}

// buildLinter builds into a folder of its own and renames, so that a build that
// was interrupted leaves no half binary.
func buildLinter(ctx context.Context, j job, binary string) (err error) {
	if err := os.MkdirAll(filepath.Dir(binary), 0o750); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(binary), "build-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	_, _ = fmt.Fprintln(j.log, "building", linterModule, linterVersion, "once, into bin/")
	if err := j.command(ctx, []string{"GOBIN=" + dir, "GOFLAGS="}, "go", "install", linterModule+"@"+linterVersion); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, filepath.Base(linterModule)), binary)
}
