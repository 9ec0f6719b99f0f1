package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/schema"
	"github.com/rowcast/rowcast/schema/schematest"
)

// What the schema's scripts get wrong is told at boot, each once, with its place.
func TestAWrongScriptIsRefusedAtBoot(t *testing.T) {
	model := schematest.Model(t, `
entities:
  - name: a
    fields: [{name: id, type: ulid}, {name: x, type: int}]
    events:
      - {name: e, condition: {language: expr, expression: payload.zip == 1}}
      - {name: f, topic: shared, operations: [update]}
      - {name: g, topic: shared.too}
    subscriptions:
      - {name: s, source: shared, rls: true, filter: {language: expr, expression: payload.zap == 1}}
`)
	_, err := engine.New(engine.Config{
		Model: model, Policies: policies(t, model), Store: &broken{}, NewID: ids(), Secret: []byte("0123456789abcdef"),
	})
	var refused document.Refusals
	if !errors.As(err, &refused) || len(refused) != 2 {
		t.Fatalf("got %v, want two refusals", err)
	}
	for i, mentions := range []string{"zip", "zap"} {
		if !strings.Contains(refused[i].Message, mentions) || refused[i].Pos.Line == 0 {
			t.Errorf("got %s, want %s and its place", refused[i], mentions)
		}
	}
}

func TestASecretThatIsNoneIsRefused(t *testing.T) {
	h := open(t)
	_, err := engine.New(engine.Config{Model: &schema.Model{}, Store: h.Store(), NewID: ids(), Secret: []byte("short")})
	if err == nil || strings.Contains(err.Error(), "short") {
		t.Errorf("got %v, want a refusal that does not repeat it", err)
	}
}

func TestAnEngineServesTheEntitiesOfItsDatastoreAlone(t *testing.T) {
	h := open(t, func(c *engine.Config) { delete(c.Policies, "tag") })
	if _, ok := h.Policy("tag"); ok {
		t.Error("tag is served")
	}
	for _, e := range h.Entities() {
		if _, ok := h.Policy(e.Name); !ok || e.Name == "tag" {
			t.Errorf("%s: got no policy", e.Name)
		}
	}
	_, err := h.Transaction(t.Context(), alice, []engine.Step{{Op: "create", Entity: "tag"}}, engine.Options{})
	if err == nil {
		t.Error("a transaction reached another datastore")
	}
}
