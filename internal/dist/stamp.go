package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// stamp is what rowcast version says of a build. What is empty is not said.
type stamp struct{ version, commit, date string }

// flags are the linker's: no symbols, and the stamp in the variables of cmd/rowcast.
func (s stamp) flags() string {
	return fmt.Sprintf("-s -X main.version=%s -X main.commit=%s -X main.date=%s", s.version, s.commit, s.date)
}

// ask asks git which commit is checked out.
func ask(ctx context.Context) (stamp, error) {
	described, err := git(ctx, "describe", "--tags", "--always", "--dirty")
	if err != nil {
		return stamp{}, err
	}
	shown, err := git(ctx, "show", "--no-patch", "--format=%H %ct", "HEAD")
	if err != nil {
		return stamp{}, err
	}
	return stampOf(described, shown)
}

// stampOf reads what git describes and shows. The date is the commit's own, not
// that of the build.
func stampOf(described, shown string) (stamp, error) {
	s := stamp{version: strings.TrimSpace(described)}
	var seconds int64
	if _, err := fmt.Sscanf(shown, "%s %d", &s.commit, &seconds); err != nil {
		return stamp{}, fmt.Errorf("git shows the commit as %q: %w", shown, err)
	}
	s.date = time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	return s, nil
}

func git(ctx context.Context, args ...string) (string, error) {
	said, err := exec.CommandContext(ctx, "git", args...).Output() //nolint:gosec // a fixed command
	if err != nil {
		return "", fmt.Errorf("git %s: %w; say --version where there is no git", strings.Join(args, " "), err)
	}
	return string(said), nil
}
