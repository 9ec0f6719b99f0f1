package hub

import (
	"testing"

	"github.com/rowcast/rowcast/internal/script"
	"github.com/rowcast/rowcast/schema"
)

func compileFilter(t *testing.T, e *schema.Entity, sub *schema.Subscription) *script.Program {
	t.Helper()
	if sub.Filter == nil {
		return nil
	}
	p, refusals := script.CompileFilter(e, *sub.Filter, func(int) bool { return true })
	if len(refusals) > 0 {
		t.Fatal(refusals)
	}
	return p
}
