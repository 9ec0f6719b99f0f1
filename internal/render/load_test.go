package render_test

import (
	"testing"

	"github.com/rowcast/rowcast/schema"
)

// load reads a schema of one entity.
func load(t testing.TB, text string) *schema.Entity {
	t.Helper()
	m, refused := schema.Parse([]schema.Source{{Name: "shop.yaml", Data: []byte(text)}})
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	return m.Entities[0]
}
