package docs

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

var (
	commandLine = regexp.MustCompile(`(?m)^  ([a-z]+) +\S`)
	flagLine    = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)(?: [a-z]+)? {2,}(.*)$`)
	defaultText = regexp.MustCompile(`\(default "?([^")]*)"?\)$`)
)

// help returns what a command says of itself.
func help(t *testing.T, command ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), servertest.Binary(t), append(command, "--help")...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("rowcast %s --help: %v\n%s", strings.Join(command, " "), err, log.String())
	}
	return out.String()
}

// flags returns the flags of a help text with their defaults, but for --help.
func flags(text string) map[string]string {
	found := map[string]string{}
	for _, m := range flagLine.FindAllStringSubmatch(text, -1) {
		if m[1] == "help" {
			continue
		}
		found[m[1]] = ""
		if d := defaultText.FindStringSubmatch(m[2]); d != nil {
			found[m[1]] = d[1]
		}
	}
	return found
}

// Every command has its section with a row for each flag and its default, and
// no section or row is about something there is not.
func TestCommandsAreDescribed(t *testing.T) {
	sections := map[string]section{}
	for _, s := range read(t, "docs/reference/commands.md").sections() {
		if name, ok := strings.CutPrefix(s.title, "rowcast "); ok {
			sections[name] = s
		}
	}
	commands := commandsIn(t)
	if !slices.Contains(commands, "serve") || !slices.Contains(commands, "deliveries drain") {
		t.Fatalf("not all commands found: %q", commands)
	}
	for _, name := range commands {
		s, ok := sections[name]
		if !ok {
			t.Errorf("docs/reference/commands.md has no section for rowcast %s", name)
			continue
		}
		command := strings.Fields(name)
		if name == "completion" {
			command = append(command, "bash") // its flags are those of each shell
		}
		own, _, _ := strings.Cut(help(t, command...), "Global Flags:\n") // the others are in the section of the command above
		compareFlags(t, s, flags(own))
	}
	for name := range sections {
		if !slices.Contains(commands, name) {
			t.Errorf("docs/reference/commands.md describes rowcast %s, which there is not", name)
		}
	}
}

// commandsIn returns the commands below one, and those below them, but for the
// shells of completion.
func commandsIn(t *testing.T, above ...string) (names []string) {
	t.Helper()
	_, list, _ := strings.Cut(help(t, above...), "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, m := range commandLine.FindAllStringSubmatch(list, -1) {
		command := append(slices.Clone(above), m[1])
		names = append(names, strings.Join(command, " "))
		if m[1] != "completion" && m[1] != "help" {
			names = append(names, commandsIn(t, command...)...)
		}
	}
	return names
}

func compareFlags(t *testing.T, s section, taken map[string]string) {
	t.Helper()
	named := map[string]string{}
	for _, row := range s.table("flag") {
		named[strings.Trim(row[0], "`-")] = row[1]
	}
	for name, standard := range taken {
		row, ok := named[name]
		switch {
		case !ok:
			t.Errorf("%s: no row for the flag --%s", s.title, name)
		case standard != "" && row != "`"+standard+"`":
			t.Errorf("%s: --%s defaults to %s, not to %s", s.title, name, standard, row)
		}
	}
	for name := range named {
		if _, ok := taken[name]; !ok {
			t.Errorf("%s: a row for --%s, which there is not", s.title, name)
		}
	}
}
