package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// What a release is stamped with, by the linker (internal/dist); empty in any
// other build, which knows what the Go toolchain wrote into it.
var version, commit, date string

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print which rowcast this is",
		Example: `  rowcast version`,
		Args:    cobra.NoArgs,
		RunE: work(func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine())
			return err
		}),
	}
}

// versionLine is version, commit and its date, as far as they are known, then
// toolchain and platform.
func versionLine() string {
	return fmt.Sprintf("rowcast %s %s %s/%s", stamp(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func stamp() string {
	if version != "" {
		text := version
		for _, part := range []string{short(commit), date} {
			if part != "" {
				text += " " + part
			}
		}
		return text
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devel
	}
	text, modified := cmp.Or(info.Main.Version, devel), ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			text += " " + short(s.Value)
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " (modified)"
		}
	}
	return text + modified
}

// devel is the version of what is none.
const devel = "(devel)"

// short is a commit as one writes it.
func short(commit string) string { return commit[:min(12, len(commit))] }
