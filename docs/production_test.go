package docs

import (
	"regexp"
	"strings"
	"testing"
)

var metricName = regexp.MustCompile(`rowcast_[a-z_]+`)

// The alerts of the operator's guide are about metrics that there are.
func TestTheGuidesAlertsNameMetrics(t *testing.T) {
	known := map[string]bool{}
	for _, line := range read(t, "docs/reference/metrics.md").lines {
		if strings.HasPrefix(line, "| `rowcast_") {
			known[metricName.FindString(line)] = true
		}
	}
	named := 0
	for i, line := range read(t, "docs/guides/production.md").lines {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, name := range metricName.FindAllString(line, -1) {
			named++
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				name = strings.TrimSuffix(name, suffix)
			}
			if !known[name] {
				t.Errorf("docs/guides/production.md:%d: there is no metric %s", i+1, name)
			}
		}
	}
	if named < 6 {
		t.Errorf("%d metrics found; do the rows of the table begin with them?", named)
	}
}
