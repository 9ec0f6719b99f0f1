package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// postgres sees to it that there is a PostgreSQL for the tests to start: they
// use the binaries alone, never a server that runs already.
func postgres(ctx context.Context, j job) error {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres"); len(found) > 0 {
		return nil
	}
	if _, err := exec.LookPath("postgres"); err == nil {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return errors.New("the tests start a PostgreSQL of their own, 15 or newer: install its binaries (Debian: apt-get install postgresql)")
	}
	env := []string{"DEBIAN_FRONTEND=noninteractive"}
	if err := j.command(ctx, env, "apt-get", "update", "-q"); err != nil {
		return err
	}
	return j.command(ctx, env, "apt-get", "install", "-q", "-y", "--no-install-recommends", "postgresql")
}
