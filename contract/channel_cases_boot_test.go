package contract

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

var placed = regexp.MustCompile(`^\S+:\d+:\d+: .`)

// boots runs a case of a boot: a refusal is a line with its place and exit status
// 1; what check accepts can be served.
func (all *channelCases) boots(t *testing.T, c channelLine) {
	var want struct {
		Boot     string
		Mentions []string
	}
	if err := json.Unmarshal(c.Expect, &want); err != nil {
		t.Fatal(err)
	}
	if want.Boot == "ok" {
		if stdout, stderr, status := servertest.Command(t, all.options(c), "check"); stdout != "ok\n" || stderr != "" || status != 0 {
			t.Errorf("check exits with %d and says %q, %q", status, stdout, stderr)
		}
		servertest.Start(t, all.options(c)).User("ann").Post("/data/thing", `{"id":"a","title":"x"}`).Is(201)
		return
	}
	if want.Boot != "refused" {
		t.Fatalf("boot %q", want.Boot)
	}
	options := all.options(c)
	options.Driver = "sqlite" // a boot is judged before any store is opened
	stdout, stderr, status := servertest.Command(t, options, "serve")
	if status != 1 || stdout != "" {
		t.Errorf("serve exits with %d and says %q", status, stdout)
	}
	lines := strings.Split(stderr, "\n")
	for _, text := range want.Mentions {
		if !slices.ContainsFunc(lines, func(l string) bool { return placed.MatchString(l) && strings.Contains(l, text) }) {
			t.Errorf("no line with a place mentions %q:\n%s", text, stderr)
		}
	}
}
