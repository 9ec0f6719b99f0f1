// Package schematest reads schemas for tests. A schema that is refused fails
// the test at once. It may import schema alone.
package schematest

import (
	"testing"

	"github.com/rowcast/rowcast/schema"
)

// Model reads a schema of one file, named shop.yaml.
func Model(t testing.TB, text string) *schema.Model {
	t.Helper()
	model, refusals := schema.Parse([]schema.Source{{Name: "shop.yaml", Data: []byte(text)}})
	if err := refusals.Err(); err != nil {
		t.Fatal(err)
	}
	return model
}

// Entity is the first entity of Model.
func Entity(t testing.TB, text string) *schema.Entity {
	t.Helper()
	return Model(t, text).Entities[0]
}
