package typegen

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rowcast/rowcast/schema"
)

func TestPascal(t *testing.T) {
	for text, want := range map[string]string{
		"order_status": "OrderStatus", "id": "ID", "owner_id": "OwnerID", "finishOne": "FinishOne", "log-entry": "LogEntry", "line.item": "LineItem",
		"_x": "X", "a1": "A1", "in progress": "InProgress", "größer": "GrEr", "日本": "", "__": "", "2": "2",
	} {
		if got := pascal(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"__": "X", "_1": "X1", "a": "A"} {
		if got := exported(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestARowHasTheNameOfItsEntity(t *testing.T) {
	m, refusals := schema.Parse([]schema.Source{{Name: "a.yaml", Data: []byte(`
enums: [{name: Order, values: [{value: a}, {value: A}, {value: "-"}, {value: "+"}]}]
entities:
  - {name: order, fields: [{name: id}, {name: a_b, type: Order}, {name: aB, type: int}, {name: AB_, type: int}, {name: a__b, type: int, defaultvalue: 1}], events: [{name: e}], subscriptions: [{name: "on"}], realtime: {}}
  - {name: orderCreate, fields: [{name: id}]}
  - {name: optional, fields: [{name: id}]}
  - {name: subscription-event, fields: [{name: id}]}
  - {name: channel-event, fields: [{name: id}]}
  - {name: entities, fields: [{name: id}]}
  - {name: order_on_event, fields: [{name: id}]}
`)}})
	if err := refusals.Err(); err != nil {
		t.Fatal(err)
	}
	ts, golang := written(t, m, Options{})
	sound(t, ts, golang)
	for _, want := range []string{
		"type Order struct", "type Order2 string", "type OrderCreate struct", "type OrderCreate2 struct", "type Optional2[T any]", "type SubscriptionEvent2[Row any]",
		"type OrderOnEvent2 = SubscriptionEvent2[struct{}]", "Order2A2 ", "Order2Value2 ",
	} {
		if !strings.Contains(golang, want) {
			t.Errorf("no %q in\n%s", want, golang)
		}
	}
}

// Whatever names a schema has, what is written of it is sound: few letters, so
// that many names become one.
func TestAnyNamesGiveSoundTypes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := anySchema(rt)
		m, refusals := schema.Parse([]schema.Source{{Name: "any.yaml", Data: []byte(text)}})
		if err := refusals.Err(); err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		golang, err := Go(m, Options{Realtime: &schema.Realtime{}})
		if err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		sound(t, string(TypeScript(m, Options{Realtime: &schema.Realtime{}})), string(golang))
		if t.Failed() {
			rt.Fatalf("of\n%s", text)
		}
	})
}

// anyName becomes, together with others, one of few identifiers.
var anyName = rapid.StringMatching(`(a|b|_|event|create|optional|t|row|some|null|order)([ab_]|_id|_create)?`)

func anySchema(rt *rapid.T) string {
	var b strings.Builder
	enum := anyName.Draw(rt, "enum")
	fmt.Fprintf(&b, "enums: [{name: %q, values: [{value: %q}, {value: %q}]}]\nentities:\n", enum, "x"+anyName.Draw(rt, "value"), "y"+anyName.Draw(rt, "value"))
	for _, entity := range rapid.SliceOfNDistinct(anyName, 1, 5, rapid.ID[string]).Draw(rt, "entities") {
		fmt.Fprintf(&b, "  - {name: %q, fields: [{name: id}", entity)
		for _, field := range rapid.SliceOfNDistinct(anyName, 0, 5, rapid.ID[string]).Draw(rt, "fields") {
			kind := rapid.SampledFrom([]string{enum, "string", "int", "object", "bytes", "timestamp"}).Draw(rt, "type")
			fmt.Fprintf(&b, ", {name: %q, type: %q}", field, kind)
		}
		fmt.Fprintf(&b, "], events: [{name: e, exclude: [id]}], subscriptions: [{name: %q, rls: true}]}\n", anyName.Draw(rt, "subscription"))
	}
	return b.String()
}
