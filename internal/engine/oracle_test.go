package engine_test

import (
	"testing"

	"github.com/rowcast/rowcast/fault"
)

func TestFinalComparesOnlyWhatTheCallerReads(t *testing.T) {
	h := open(t)
	id := h.given(staff, "order", full)
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"the same value of a field she reads", `{"born":"b1"}`, nil},
		{"another value of a field she reads", `{"born":"b2"}`, []string{"born final"}},
		{"the true value of a field she cannot read", `{"stamp":"s1"}`, []string{"stamp final"}},
		{"a wrong value of a field she cannot read", `{"stamp":"s2"}`, []string{"stamp final"}},
		{"null for a field she cannot read", `{"stamp":null}`, []string{"stamp final"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.patch(alice, "order", id, c.body)
			wantInvalid(t, err, c.want)
		})
	}
	_, right := h.patch(alice, "order", id, `{"stamp":"s1"}`)
	_, wrong := h.patch(alice, "order", id, `{"stamp":"s2"}`)
	f1, _ := fault.Of(right)
	f2, _ := fault.Of(wrong)
	if f1.Message != f2.Message || f1.Errors[0] != f2.Errors[0] {
		t.Errorf("the answers differ: %v and %v", f1.Errors, f2.Errors)
	}
}

func TestAConflictNamesAFieldOnlyToWhoReadsIt(t *testing.T) {
	h := open(t)
	h.given(staff, "order", full)
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"a field she reads", `{"title":"ab","code":"abc"}`, []string{"code unique"}},
		{"a field she cannot read", `{"title":"ab","notes":"secret"}`, nil},
		{"a field she reads masked", `{"title":"ab","card":"12345678"}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.create(alice, "order", c.body)
			wantErrors(t, err, fault.Conflict, c.want...)
		})
	}
}

func TestTheMaskIsNoValue(t *testing.T) {
	h := open(t)
	id := h.given(staff, "order", full)
	shown := h.read(alice, "order", id)
	wantFields(t, shown, map[string]any{"card": "******78", "pin": nil})
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"the mask she was shown", `{"card":"******78"}`, []string{"card masked_value"}},
		{"null, which masks a number", `{"pin":null}`, []string{"pin masked_value"}},
		{"both at once", `{"card":"******78","pin":null}`, []string{"card masked_value", "pin masked_value"}},
		{"another value", `{"card":"******79","pin":1}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.patch(alice, "order", id, c.body)
			wantInvalid(t, err, c.want)
		})
	}
	t.Run("null is refused for a number that is null too", func(t *testing.T) {
		empty := h.given(alice, "order", `{"title":"ab"}`)
		_, err := h.patch(alice, "order", empty, `{"pin":null}`)
		wantErrors(t, err, fault.Invalid, "pin masked_value")
	})
	t.Run("who reads it unmasked may write stars", func(t *testing.T) {
		if _, err := h.patch(staff, "order", id, `{"card":"******78"}`); err != nil {
			t.Error(err)
		}
	})
}

func TestNoFilterOrOrderByWhatTheCallerCannotRead(t *testing.T) {
	h := open(t)
	id := h.given(staff, "order", full)
	for _, c := range []struct{ name, query, want string }{
		{"a filter by a field she cannot read", "filter[notes][eq]=secret", "notes invalid_field"},
		{"a filter by a masked field", "filter[card][eq]=12345678", "card invalid_field"},
		{"a filter by no field", "filter[zap][eq]=1", "zap invalid_field"},
		{"an order by a field she cannot read", "sort=notes", "notes invalid_field"},
		{"an order by a masked field", "sort=-pin", "pin invalid_field"},
		{"an order by no field", "sort=zap", "zap invalid_field"},
		{"a projection of a field she cannot read", "fields=notes", "notes invalid_field"},
		{"a projection of no field", "fields=zap", "zap invalid_field"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.tryList(alice, "order", c.query)
			wantErrors(t, err, fault.InvalidQuery, c.want)
			if page := h.list(staff, "order", "filter[notes][eq]=secret&sort=pin"); len(page.Rows) != 1 {
				t.Errorf("staff found %d rows", len(page.Rows))
			}
		})
	}
	t.Run("a many-row write is no way round", func(t *testing.T) {
		_, err := h.patchMany(alice, "order", "filter[notes][eq]=secret", `{"total":1}`)
		wantErrors(t, err, fault.InvalidQuery, "notes invalid_field")
		_, err = h.deleteMany(alice, "order", "filter[card][eq]=12345678")
		wantErrors(t, err, fault.InvalidQuery, "card invalid_field")
		_, err = h.patchMany(writer, "order", "filter[title][eq]=first", `{"total":1}`)
		wantErrors(t, err, fault.InvalidQuery, "title invalid_field")
	})
	wantFields(t, h.read(staff, "order", id), map[string]any{"total": 5})
}

func TestAFieldThatCannotBeReadMayBeWritten(t *testing.T) {
	h := open(t)
	id := h.given(alice, "order", `{"title":"ab","notes":"hers"}`)
	if _, err := h.patch(alice, "order", id, `{"notes":"new"}`); err != nil {
		t.Fatal(err)
	}
	wantFields(t, h.read(staff, "order", id), map[string]any{"notes": "new"})
}
