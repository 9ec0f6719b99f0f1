package engine_test

import (
	"context"
	"testing"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/render"
)

const full = `{"title":"first","status":"open","owner_id":"alice","total":5,"code":"abc","card":"12345678","pin":1234,"notes":"secret","stamp":"s1","born":"b1","meta":{"a":1,"b":2}}`

func TestPatchMergesTopLevelKeys(t *testing.T) {
	h := open(t)
	id := h.given(staff, "order", full)
	if _, err := h.patch(alice, "order", id, `{"total":6,"meta":{"c":3},"code":null}`); err != nil {
		t.Fatal(err)
	}
	wantFields(t, h.read(staff, "order", id), map[string]any{
		"title": "first", "total": 6, "code": nil, "notes": "secret", "card": "12345678",
		"meta": map[string]any{"c": 3}, "createdby": "sam", "updatedby": "alice",
	})
}

func TestPutTakesDefaultsButKeepsWhatTheCallerCannotSeeOrChange(t *testing.T) {
	h := open(t)
	id := h.given(staff, "order", full)
	if _, err := h.put(alice, id, `{"title":"second"}`); err != nil {
		t.Fatal(err)
	}
	wantFields(t, h.read(staff, "order", id), map[string]any{
		"title": "second", "status": "draft", "owner_id": "alice", "total": nil, "code": nil, "meta": nil,
		"notes": "secret", "card": "12345678", "pin": 1234, // unreadable, masked: kept
		"born": "b1", "stamp": "s1", // final: kept
		"createdby": "sam", "id": id,
	})
}

func TestPutByWhoReadsEverythingReplacesEverything(t *testing.T) {
	h := open(t)
	id := h.given(staff, "order", full)
	if _, err := h.put(staff, id, `{"title":"second","owner_id":"alice"}`); err != nil {
		t.Fatal(err)
	}
	wantFields(t, h.read(staff, "order", id), map[string]any{"notes": nil, "card": nil, "pin": nil, "total": nil})
}

func TestPutNeedsWhatIsRequired(t *testing.T) {
	h := open(t)
	id := h.given(staff, "order", full)
	_, err := h.put(alice, id, `{}`)
	wantErrors(t, err, fault.Invalid, "title required")
	_, err = h.patch(alice, "order", id, `{"title":null}`)
	wantErrors(t, err, fault.Invalid, "title required")
}

func TestTheIDOfARowStays(t *testing.T) {
	h := open(t)
	id := h.given(staff, "order", full)
	if _, err := h.patch(alice, "order", id, `{"id":"`+id+`"}`); err != nil {
		t.Error(err)
	}
	_, err := h.patch(alice, "order", id, `{"id":"01M2P1R18HT8575N8GVM2H5WPN"}`)
	wantErrors(t, err, fault.Invalid, "id final")
	_, err = h.put(alice, id, `{"title":"ab","id":"01M2P1R18HT8575N8GVM2H5WPN"}`)
	wantErrors(t, err, fault.Invalid, "id final")
}

func TestThereIsNoRowToWrite(t *testing.T) {
	h := open(t)
	for _, id := range []string{"01M2P1R18HT8575N8GVM2H5WPN", "no-ulid", "", "a/b", "\x00"} {
		_, err := h.patch(alice, "order", id, `{}`)
		wantFault(t, err, fault.NotFound)
		_, err = h.put(alice, id, `{"title":"ab"}`)
		wantFault(t, err, fault.NotFound)
		wantFault(t, h.remove(alice, "order", id), fault.NotFound)
		_, err = h.restore(alice, "order", id)
		wantFault(t, err, fault.NotFound)
		wantFault(t, h.purge(staff, id), fault.NotFound)
		if h.read(alice, "order", id) != nil {
			t.Errorf("%q was read", id)
		}
	}
}

// The order: row 404, 412, row 403, validation, conflict.
func TestTheOrderOfAWritesChecks(t *testing.T) {
	h := open(t)
	h.given(staff, "order", `{"title":"other","code":"taken"}`)
	hidden := h.given(staff, "order", `{"title":"ab","owner_id":"alice"}`)
	open := h.given(staff, "order", `{"title":"ab","owner_id":"alice","status":"open"}`)
	own := h.given(bob, "order", `{"title":"ab"}`)
	ctx := context.Background()
	g := h.grant(bob, "order", access.Update)
	bad, stale := `{"zap":1,"code":"taken"}`, engine.Options{IfMatch: `"stale"`}
	for _, c := range []struct {
		name, id, body string
		options        engine.Options
		want           fault.Code
	}{
		{"a hidden row before all else", hidden, bad, stale, fault.NotFound},
		{"the precondition before the row's rules", open, bad, stale, fault.PreconditionFailed},
		{"the row's rules before the body's faults", open, bad, engine.Options{}, fault.RowRefused},
		{"the precondition before the body's faults", own, bad, stale, fault.PreconditionFailed},
		{"the body's faults before a conflict", own, bad, engine.Options{}, fault.Invalid},
		{"the row as written before a conflict", own, `{"code":"taken","owner_id":"alice"}`, engine.Options{}, fault.RowRefused},
		{"a conflict at last", own, `{"code":"taken"}`, engine.Options{}, fault.Conflict},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Patch(ctx, g, c.id, body(t, c.body), c.options)
			wantFault(t, err, c.want)
		})
	}
}

func TestPreconditionsJudgeTheRowAsTheCallerReadsIt(t *testing.T) {
	h := open(t)
	ctx := context.Background()
	id := h.given(staff, "order", full)
	g := h.grant(alice, "order", access.Update)
	row, err := h.Get(ctx, g, id)
	if err != nil {
		t.Fatal(err)
	}
	tag := render.ETag(g, row)
	staffTag := render.ETag(h.grant(staff, "order", access.Read), row)
	for _, c := range []struct {
		name    string
		options engine.Options
		ok      bool
	}{
		{"another tag", engine.Options{IfMatch: `"x"`}, false},
		{"the tag of another reader", engine.Options{IfMatch: staffTag}, false},
		{"a weak tag", engine.Options{IfMatch: "W/" + tag}, false},
		{"none of this tag", engine.Options{IfNoneMatch: `"x", W/` + tag}, false},
		{"no row at all", engine.Options{IfNoneMatch: "*"}, false},
		{"this tag", engine.Options{IfMatch: `"x", ` + tag}, true},
		{"the tag of the version before", engine.Options{IfMatch: tag}, false},
		{"any row", engine.Options{IfMatch: "*"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Patch(ctx, g, id, body(t, `{}`), c.options)
			if !c.ok {
				wantFault(t, err, fault.PreconditionFailed)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	_, err = h.Patch(ctx, g, id, body(t, `{}`), engine.Options{IfMatch: "no tag"})
	wantFault(t, err, fault.BadParameter)
	_, err = h.Delete(ctx, h.grant(alice, "order", access.Delete), id, engine.Options{IfMatch: `"x"`})
	wantFault(t, err, fault.PreconditionFailed)
}

func TestAWriterWhoCannotReadTheResultIsShownNothing(t *testing.T) {
	h := open(t)
	out, err := h.create(writer, "order", `{"title":"ab"}`)
	if err != nil || out.Row != nil || idOf(out) == "" {
		t.Fatalf("got %+v, %v, want an id and no row", out, err)
	}
	id := h.given(staff, "order", `{"title":"ab","owner_id":"wanda","status":"open"}`)
	out, err = h.patch(writer, "order", id, `{"total":1}`)
	if err != nil || out.Row != nil {
		t.Fatalf("got %+v, %v, want no row", out, err)
	}
}

// A tag is a hash of the row: to match it would confirm a guess at every field.
func TestWhoCannotReadMatchesNoTag(t *testing.T) {
	h := open(t)
	ctx := context.Background()
	id := h.given(writer, "order", `{"title":"ab"}`)
	g := h.grant(writer, "order", access.Update)
	row, err := h.Get(ctx, h.grant(staff, "order", access.Read), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{render.ETag(g, row), render.ETag(h.grant(staff, "order", access.Read), row)} {
		_, err := h.Patch(ctx, g, id, body(t, `{}`), engine.Options{IfMatch: tag})
		wantFault(t, err, fault.PreconditionFailed)
	}
	if _, err := h.Patch(ctx, g, id, body(t, `{}`), engine.Options{IfMatch: "*"}); err != nil {
		t.Error(err)
	}
}
