package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
)

func TestCreateGivesWhatWasNotSentItsDefault(t *testing.T) {
	h := open(t)
	out, err := h.create(staff, "order", `{"title":"first"}`)
	if err != nil {
		t.Fatal(err)
	}
	got := decoded(t, out.Grant, out.Row)
	wantFields(t, got, map[string]any{
		"title": "first", "status": "draft", "owner_id": "sam", "total": nil, "notes": nil,
		"createdby": "sam", "createdon": "2026-09-17T02:25:12.345678Z",
		"updatedby": "sam", "updatedon": "2026-09-17T02:25:12.345678Z",
		"seen_at": "2026-09-17T02:25:12.345678Z", "deletedby": nil, "deletedon": nil,
	})
	if len(got["id"].(string)) != 26 || len(got["ref"].(string)) != 36 {
		t.Errorf("got id %v, ref %v, want a ULID and a UUID", got["id"], got["ref"])
	}
}

func TestANullThatWasSentIsNoDefault(t *testing.T) {
	h := open(t)
	id := h.given(staff, "order", `{"title":"first","status":null,"notes":null}`)
	wantFields(t, h.read(staff, "order", id), map[string]any{"status": nil, "notes": nil})
}

func TestIDs(t *testing.T) {
	const aULID, aUUID = "01M2P1R18HT8575N8GVM2H5WPN", "0b9c2f14-6a51-4d0e-9a57-0d6a2c9f1e01"
	for _, c := range []struct {
		name, entity, body string
		want               string // "": any
		faults             string
	}{
		{"a ulid is generated", "order", `{"title":"ab"}`, "", ""},
		{"a ulid may be given", "order", `{"title":"ab","id":"` + aULID + `"}`, aULID, ""},
		{"a null id is as if left out", "order", `{"title":"ab","id":null}`, "", ""},
		{"a ulid must be one", "order", `{"title":"ab","id":"x"}`, "", "id invalid_type"},
		{"a uuid is generated", "token", `{}`, "", ""},
		{"a uuid may be given", "token", `{"id":"` + aUUID + `"}`, aUUID, ""},
		{"a number is drawn", "note", `{"rank":1,"text":"a"}`, "1", ""},
		{"a number may be given", "note", `{"id":9007199254740993,"rank":1,"text":"a"}`, "9007199254740993", ""},
		{"a text must be given", "tag", `{}`, "", "id required"},
		{"an empty text is none", "tag", `{"id":""}`, "", "id required"},
		{"a text is taken as it is", "tag", `{"id":"a/b.c%25 é"}`, "a/b.c%25 é", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t)
			out, err := h.create(staff, c.entity, c.body)
			if c.faults != "" {
				wantErrors(t, err, fault.Invalid, c.faults)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := idOf(out); got == "" || (c.want != "" && got != c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if h.read(staff, c.entity, idOf(out)) == nil {
				t.Error("cannot be read by its id")
			}
		})
	}
}

func TestEveryFaultOfABodyIsReportedTogether(t *testing.T) {
	h := open(t)
	_, err := h.create(alice, "order", `{"title":"x","status":"gone","total":1001,"code":"A1","size":"XL","meta":[],"zap":1,"createdby":"eve","deletedon":null,"paid_at":"yesterday"}`)
	wantErrors(t, err, fault.Invalid,
		"title minlength", "status oneof", "total max", "code pattern", "size oneof", "meta invalid_type",
		"zap unknown_field", "createdby read_only", "deletedon read_only", "paid_at invalid_type")
}

func TestValidations(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"a required field that is missing", `{}`, "title required"},
		{"a required field that is null", `{"title":null}`, "title required"},
		{"below min", `{"title":"ab","total":-1}`, "total min"},
		{"a fraction for an int", `{"title":"ab","total":1.5}`, "total invalid_type"},
		{"a number beyond an int", `{"title":"ab","total":2147483648}`, "total invalid_type"},
		{"a text for a number", `{"title":"ab","total":"1"}`, "total invalid_type"},
		{"lengths are code points", `{"title":"😀"}`, "title minlength"},
		{"an id of another's making", `{"title":"ab","id":7}`, "id invalid_type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := open(t).create(alice, "order", c.body)
			wantErrors(t, err, fault.Invalid, c.want)
		})
	}
	t.Run("what fits the bounds exactly", func(t *testing.T) {
		open(t).given(alice, "order", `{"title":"😀😀😀😀😀😀😀😀😀😀","total":1000,"code":"abc","size":"S","meta":{"b":1,"a":[2]}}`)
	})
}

func TestAMessageOfTheSchemaReplacesTheDetail(t *testing.T) {
	h := open(t)
	_, err := h.create(alice, "order", `{"title":"much too long a title"}`)
	f, _ := fault.Of(err)
	if f == nil || f.Errors[0].Detail != "keep it short" {
		t.Errorf("got %v", err)
	}
	h.given(alice, "order", `{"title":"ab","code":"a"}`)
	_, err = h.create(alice, "order", `{"title":"ab","code":"a"}`)
	wantErrors(t, err, fault.Conflict, "code unique")
	if f, _ := fault.Of(err); f.Errors[0].Detail != "that code is taken" {
		t.Errorf("got %v", f.Errors)
	}
}

func TestAFaultNeverRepeatsWhatWasSent(t *testing.T) {
	_, err := open(t).create(alice, "order", `{"title":"SECRET-SECRET","status":"SECRET","total":"SECRET","code":"SECRET","size":"SECRET"}`)
	f, _ := fault.Of(err)
	for _, one := range f.Errors {
		if strings.Contains(one.Detail, "SECRET") {
			t.Errorf("%+v repeats the value", one)
		}
	}
}

func TestATakenIDIsAConflict(t *testing.T) {
	h := open(t)
	h.given(alice, "tag", `{"id":"a"}`)
	_, err := h.create(alice, "tag", `{"id":"a"}`)
	wantErrors(t, err, fault.Conflict, "id unique")
}

func TestAnAnonymousWriterLeavesNoName(t *testing.T) {
	h := open(t)
	out, err := h.create(nobody, "token", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if out.Row == nil {
		t.Error("got no row")
	}
	_, err = h.Grant(nobody, "tag", access.Create)
	wantFault(t, err, fault.Forbidden)
}

func TestANewRowHasNoTagToMatch(t *testing.T) {
	h := open(t)
	g := h.grant(alice, "tag", access.Create)
	for _, ifMatch := range []string{`*`, `"x"`} {
		_, err := h.Create(context.Background(), g, body(t, `{"id":"a"}`), engine.Options{IfMatch: ifMatch})
		wantFault(t, err, fault.PreconditionFailed)
	}
	if _, err := h.Create(context.Background(), g, body(t, `{"id":"a"}`), engine.Options{IfNoneMatch: "*"}); err != nil {
		t.Error(err)
	}
}

func TestAGrantOpensOnlyTheActionItAllows(t *testing.T) {
	h := open(t)
	id := h.given(alice, "order", `{"title":"ab"}`)
	g := h.grant(alice, "order", access.Read)
	_, err := h.Purge(context.Background(), g, id, engine.Options{})
	wantFault(t, err, fault.Forbidden)
	_, err = h.Grant(alice, "nothing", access.Read)
	wantFault(t, err, fault.EntityNotFound)
}

func TestAnAnswerIsNoLargerThanItsCause(t *testing.T) {
	h := open(t)
	var text strings.Builder
	text.WriteString(`{"` + strings.Repeat("é", 5000) + `":0`)
	for i := range 5000 {
		fmt.Fprintf(&text, `,"k%d":0`, i)
	}
	_, err := h.create(alice, "tag", text.String()+"}")
	f, _ := fault.Of(err)
	if f == nil || len(f.Errors) != 100 || len(f.Errors[0].Field) > 80 || !utf8.ValidString(f.Errors[0].Field) {
		t.Errorf("got %v", err)
	}
}
