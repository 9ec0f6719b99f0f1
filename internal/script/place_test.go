package script

import (
	"testing"

	"github.com/rowcast/rowcast/schema/schematest"
)

// A place is that of the file, however YAML writes the expression.
func TestPlacesFollowTheWayYAMLWritesThem(t *testing.T) {
	const text = `entities:
  - name: order
    fields:
      - {name: id, type: string}
      - {name: title, type: string}
    events:
      - {name: a, topic: a, condition: {language: expr, expression: payload.titel == "é"}}
      - {name: b, topic: b, condition: {language: expr, expression: '"it''s" == payload.titel'}}
      - {name: c, topic: c, condition: {language: expr, expression: "\"x\" == payload.titel"}}
      - name: d
        topic: d
        condition:
          language: expr
          expression: |
            payload.title != "a" and
              payload.titel != "b"
`
	e := schematest.Entity(t, text)
	want := []string{"shop.yaml:7:77", "shop.yaml:8:89", "shop.yaml:9:87", "shop.yaml:16:23"}
	for i, p := range e.Events {
		_, refused := CompileCondition(e, *p.Condition)
		if len(refused) != 1 || refused[0].Pos.String() != want[i] || refused[0].Snippet == "" {
			t.Errorf("event %s: got %v, want one refusal at %s, with its line", p.Name, refused, want[i])
		}
	}
}
