package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/value"
)

func (h *house) patchMany(pr *access.Principal, entity, query, text string) (int, error) {
	h.t.Helper()
	return h.PatchMany(context.Background(), h.grant(pr, entity, access.Update), query, body(h.t, text))
}

func (h *house) deleteMany(pr *access.Principal, entity, query string) (int, error) {
	h.t.Helper()
	return h.DeleteMany(context.Background(), h.grant(pr, entity, access.Delete), query)
}

func (h *house) bulk(pr *access.Principal, entity string, o engine.Options, texts ...string) ([]value.Value, bool, error) {
	h.t.Helper()
	bodies := make([]engine.Body, len(texts))
	for i, text := range texts {
		bodies[i] = body(h.t, text)
	}
	return h.Bulk(context.Background(), h.grant(pr, entity, access.Create), bodies, o)
}

func TestAManyRowWriteTouchesWhatTheCallerMayReadAndChange(t *testing.T) {
	h := open(t)
	mine := []string{h.given(alice, "order", `{"title":"one"}`), h.given(alice, "order", `{"title":"two"}`)}
	h.given(staff, "order", `{"title":"one","owner_id":"bob"}`)                 // hidden
	h.given(staff, "order", `{"title":"two","owner_id":"bob","status":"open"}`) // read, not changed
	h.forget()
	n, err := h.patchMany(alice, "order", "filter[title][in]=one,two", `{"total":9}`)
	if err != nil || n != 2 {
		t.Fatalf("got %d, %v, want 2", n, err)
	}
	events := h.events("entity.order")
	if len(events) != 2 || events[0].Subject != mine[0] || events[1].Subject != mine[1] {
		t.Errorf("got %d events, want one a row in the order of ids", len(events))
	}
	n, err = h.deleteMany(alice, "order", "filter[total][eq]=9")
	if err != nil || n != 2 {
		t.Fatalf("got %d, %v, want 2", n, err)
	}
	if got := len(h.list(staff, "order", "").Rows); got != 2 {
		t.Errorf("got %d rows left, want bob's two", got)
	}
}

func TestAManyRowWriteNeedsAFilterAndNothingElse(t *testing.T) {
	h := open(t)
	h.given(alice, "tag", `{"id":"a"}`)
	for _, query := range []string{"", "&"} {
		_, err := h.patchMany(alice, "tag", query, `{"label":"x"}`)
		wantErrors(t, err, fault.InvalidQuery, "filter invalid_value")
		_, err = h.deleteMany(alice, "tag", query)
		wantErrors(t, err, fault.InvalidQuery, "filter invalid_value")
	}
	for _, query := range []string{"filter", "filter=", "filter[]=1", "filtre%00=1&filter[x"} {
		if _, err := h.deleteMany(alice, "tag", query); err == nil {
			t.Errorf("%s deleted everything", query)
		}
	}
	for _, query := range []string{"Filter[id][eq]=a", "filter[id][eq]=a&limit=1", "filter[id][eq]=a&sort=id"} {
		_, err := h.deleteMany(alice, "tag", query)
		wantFault(t, err, fault.BadParameter)
	}
	if got := len(h.list(alice, "tag", "").Rows); got != 1 {
		t.Errorf("got %d rows, want 1", got)
	}
}

func TestAManyRowWriteFailsWhole(t *testing.T) {
	h := open(t)
	for _, id := range []string{"1", "2"} {
		h.given(alice, "note", `{"id":`+id+`,"rank":1,"text":"t`+id+`"}`)
	}
	h.forget()
	_, err := h.patchMany(alice, "note", "filter[rank][eq]=1", `{"text":"same"}`)
	wantErrors(t, err, fault.Conflict, "text unique")
	_, err = h.patchMany(alice, "note", "filter[rank][eq]=1", `{"id":3}`)
	wantErrors(t, err, fault.Invalid, "id final")
	_, err = h.patchMany(alice, "note", "filter[rank][eq]=77", `{"zap":3}`)
	wantErrors(t, err, fault.Invalid, "zap unknown_field")
	wantFields(t, h.read(alice, "note", "1"), map[string]any{"text": "t1"})
	if len(h.log) != 0 {
		t.Errorf("got %d events, want none", len(h.log))
	}
}

func TestAManyRowWriteOverTheLimitWritesNothing(t *testing.T) {
	h := open(t, func(c *engine.Config) { c.MaxRows = 3 })
	for i := range 4 {
		h.given(alice, "tag", fmt.Sprintf(`{"id":"%d","label":"x"}`, i))
		h.given(staff, "order", `{"title":"xx","owner_id":"bob"}`)
	}
	_, err := h.deleteMany(alice, "tag", "filter[label][eq]=x")
	wantFault(t, err, fault.TooManyRows)
	if got := len(h.list(alice, "tag", "").Rows); got != 4 {
		t.Errorf("got %d rows, want 4", got)
	}
	n, err := h.deleteMany(alice, "tag", "filter[id][gt]=0")
	if err != nil || n != 3 {
		t.Errorf("got %d, %v, want exactly the limit", n, err)
	}
	n, err = h.deleteMany(alice, "order", "filter[title][eq]=xx")
	if err != nil || n != 0 {
		t.Errorf("got %d, %v: hidden rows count towards the limit", n, err)
	}
}

func TestBulkInsertsAllOrNothing(t *testing.T) {
	h := open(t)
	ids, again, err := h.bulk(alice, "note", engine.Options{}, `{"rank":1,"text":"a"}`, `{"id":7,"rank":2,"text":"b"}`, `{"rank":3,"text":"c"}`)
	if err != nil || again || len(ids) != 3 || ids[1].Int() != 7 || ids[2].Int() != 8 {
		t.Fatalf("got %v, %t, %v", ids, again, err)
	}
	_, _, err = h.bulk(alice, "note", engine.Options{}, `{"rank":"x"}`, `{"rank":1,"text":"d"}`, `{"zap":1,"text":5}`)
	wantErrors(t, err, fault.Invalid, "[0].rank invalid_type", "[2].zap unknown_field", "[2].text invalid_type")
	_, _, err = h.bulk(alice, "note", engine.Options{}, `{"rank":1,"text":"d"}`, `{"rank":1,"text":"a"}`)
	wantErrors(t, err, fault.Conflict, "[1].text unique")
	if !strings.Contains(err.Error(), "[1]") {
		t.Errorf("got %v, want the element named", err)
	}
	if got := len(h.list(alice, "note", "").Rows); got != 3 {
		t.Errorf("got %d rows, want 3", got)
	}
	if ids, _, err := h.bulk(alice, "note", engine.Options{}); err != nil || len(ids) != 0 {
		t.Errorf("of no rows got %v, %v", ids, err)
	}
}

func TestBulkHasALimit(t *testing.T) {
	h := open(t, func(c *engine.Config) { c.MaxRows = 2 })
	_, _, err := h.bulk(alice, "note", engine.Options{}, `{}`, `{}`, `{}`)
	wantFault(t, err, fault.TooManyRows)
}

func TestATransactionTakesAllStepsOrNone(t *testing.T) {
	h := open(t)
	ctx := context.Background()
	own := h.given(alice, "order", `{"title":"own"}`)
	outs, err := h.Transaction(ctx, alice, []engine.Step{
		{Op: "create", Entity: "tag", Data: body(t, `{"id":"a"}`)},
		{Op: "update", Entity: "tag", ID: "a", Data: body(t, `{"label":"x"}`)},
		{Op: "update", Entity: "order", ID: own, Data: body(t, `{"total":3}`)},
		{Op: "delete", Entity: "order", ID: own},
	}, engine.Options{})
	if err != nil || len(outs) != 4 || outs[0].Row == nil || outs[3].Row != nil {
		t.Fatalf("got %v, %v", outs, err)
	}
	wantFields(t, h.read(alice, "tag", "a"), map[string]any{"label": "x"})

	for _, c := range []struct {
		name string
		step engine.Step
		code fault.Code
		want string
	}{
		{"an unknown op", engine.Step{Op: "upsert", Entity: "tag"}, fault.Invalid, "writes[1].op oneof"},
		{"an unknown entity", engine.Step{Op: "create", Entity: "zap"}, fault.EntityNotFound, ""},
		{"what the caller may not", engine.Step{Op: "update", Entity: "token", ID: "x"}, fault.Forbidden, ""},
		{"a create with an id beside data", engine.Step{Op: "create", Entity: "tag", ID: "x"}, fault.Invalid, "writes[1].id unknown_field"},
		{"an update without an id", engine.Step{Op: "update", Entity: "tag"}, fault.Invalid, "writes[1].id required"},
		{"a delete with data", engine.Step{Op: "delete", Entity: "tag", ID: "a", Data: engine.Body{}}, fault.Invalid, "writes[1].data unknown_field"},
		{"a row that is not there", engine.Step{Op: "delete", Entity: "tag", ID: "none"}, fault.NotFound, ""},
		{"a body that is not valid", engine.Step{Op: "create", Entity: "order", Data: body(t, `{"zap":1}`)}, fault.Invalid, "writes[1].title required,writes[1].zap unknown_field"},
		{"a conflict", engine.Step{Op: "create", Entity: "tag", Data: body(t, `{"id":"b"}`)}, fault.Conflict, "writes[1].id unique"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Transaction(ctx, alice, []engine.Step{{Op: "create", Entity: "tag", Data: body(t, `{"id":"b"}`)}, c.step}, engine.Options{})
			var want []string
			if c.want != "" {
				want = strings.Split(c.want, ",")
			}
			wantErrors(t, err, c.code, want...)
			if !strings.Contains(err.Error(), "writes[1]") {
				t.Errorf("got %v, want the step named", err)
			}
			if h.read(alice, "tag", "b") != nil {
				t.Error("the first step was taken")
			}
		})
	}
}

// Nobody could have read a state between two steps, so no frame may show it.
func TestATransactionHandsOnItsRowsAsItLeavesThem(t *testing.T) {
	h := open(t)
	_, err := h.Transaction(context.Background(), alice, []engine.Step{
		{Op: "create", Entity: "note", Data: body(t, `{"id":1,"rank":1,"text":"a"}`)},
		{Op: "update", Entity: "note", ID: "1", Data: body(t, `{"rank":2}`)},
		{Op: "create", Entity: "note", Data: body(t, `{"id":2,"rank":1,"text":"b"}`)},
		{Op: "delete", Entity: "note", ID: "2"},
	}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	events := h.events("entity.note")
	if len(events) != 4 {
		t.Fatalf("got %d events, want 4", len(events))
	}
	for _, e := range events[:2] {
		if got := e.Row[2]; got != value.OfInt(2) {
			t.Errorf("event %s shows rank %v, want 2", e.Fine, got)
		}
	}
	for _, e := range events[2:] {
		if e.Row != nil {
			t.Errorf("event %s shows a row that is gone", e.Fine)
		}
	}
}

func TestATransactionHasALimit(t *testing.T) {
	h := open(t, func(c *engine.Config) { c.MaxRows = 2 })
	_, err := h.Transaction(context.Background(), alice, make([]engine.Step, 3), engine.Options{})
	wantFault(t, err, fault.TooManyRows)
}

// Rules to change that reach further than those to read open nothing hidden.
func TestAManyRowWriteNeverReachesAHiddenRow(t *testing.T) {
	h := open(t)
	h.given(alice, "parcel", `{"id":"a","size":1}`)
	h.given(bob, "parcel", `{"id":"b","size":1}`)
	n, err := h.patchMany(alice, "parcel", "filter[size][eq]=1", `{"size":2}`)
	if err != nil || n != 1 {
		t.Errorf("patched %d, %v, want her own", n, err)
	}
	n, err = h.deleteMany(alice, "parcel", "filter[size][gte]=0")
	if err != nil || n != 1 {
		t.Errorf("deleted %d, %v, want her own", n, err)
	}
	wantFields(t, h.read(bob, "parcel", "b"), map[string]any{"size": 1})
	_, err = h.patch(alice, "parcel", "b", `{"size":2}`)
	wantFault(t, err, fault.NotFound)
}
