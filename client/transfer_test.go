package client

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"testing"
)

func TestBulkSendsLinesUnderAKey(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method+" "+r.URL.Path != "POST /data/order/bulk" || string(body) != "{}\n{}\n" ||
			r.Header.Get("Content-Type") != "application/x-ndjson" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s %s %v: %q %v", r.Method, r.URL.Path, r.Header, body, err)
		}
		if r.Header.Get("Idempotency-Key") == "again" {
			w.Header().Set("Idempotent-Replayed", "true")
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"ids":[1,"b"]}`)
	})
	for key, replayed := range map[string]bool{"": false, "again": true} {
		got, err := c.Bulk(t.Context(), "order", []byte("{}\n{}\n"), key)
		if err != nil || len(got.IDs) != 2 || string(got.IDs[1]) != `"b"` || got.Replayed != replayed {
			t.Errorf("key %q: got %+v, %v", key, got, err)
		}
	}
}

func TestBulkReturnsTheRefusal(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"code":"invalid","title":"x","errors":[{"field":"[7].n","code":"max","detail":"must be at most 5"}]}`)
	})
	_, err := c.Bulk(t.Context(), "order", []byte("{}\n"), "")
	var problem *Problem
	if !errors.As(err, &problem) || problem.Rows()[7] != "n must be at most 5 (max)" {
		t.Errorf("got %v", err)
	}
}

func TestAProblemNamesRows(t *testing.T) {
	for name, c := range map[string]struct {
		problem Problem
		want    map[int]string
	}{
		"by fields": {
			Problem{Code: "invalid", Detail: "some rows are not valid", Errors: []FieldError{{"[0].a", "required", "must have a value"}, {"[12].b", "max", "x"}, {"[12].c.d", "min", ""}}},
			map[int]string{0: "a must have a value (required)", 12: "b x (max); c.d (min)"},
		},
		"by the detail": {Problem{Code: "row_refused", Detail: "[3]: the rules refuse\nit"}, map[int]string{3: "the rules refuse\nit (row_refused)"}},
		"by both": {
			Problem{Code: "conflict", Detail: "[3]: another row has it", Errors: []FieldError{{"[3].code", "unique", "is taken"}}},
			map[int]string{3: "another row has it (conflict); code is taken (unique)"},
		},
		"by an element": {
			Problem{Code: "malformed_body", Detail: "element 2: the body gives a key twice (line 3, column 5, offset 40)"},
			map[int]string{2: "gives a key twice (malformed_body)"},
		},
		"none": {Problem{Code: "forbidden", Detail: "create is not allowed", Errors: []FieldError{{"filter", "x", ""}}}, map[int]string{}},
	} {
		if got := c.problem.Rows(); !maps.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
