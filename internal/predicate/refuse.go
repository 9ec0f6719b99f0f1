package predicate

import (
	"fmt"
	"strings"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/schema"
)

// refuse notes what is wrong at an offset of the script, in code points.
func (r *ruleReader) refuse(offset int, format string, args ...any) {
	r.refusals.Add(r.script.Refusal(offset, format, args...))
}

// nearest returns `; did you mean "x"?` for the field name that is closest to
// the one given, or else the names there are.
func nearest(e *schema.Entity, name string) string {
	if best := document.Nearest(name, e.Names()); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return "; its fields are " + strings.Join(e.Names(), ", ")
}
