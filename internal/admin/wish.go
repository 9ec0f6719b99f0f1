package admin

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowcast/rowcast/fault"
)

// idLimit is how many deliveries one request may name, or move by a range.
const idLimit = 1000

// wish is which deliveries to requeue: ids, or where they are nil a target's of a time.
type wish struct {
	ids          []string
	target       string
	since, until time.Time
}

// form gathers all that is wrong with a body, so that it is refused at once.
type form struct {
	sent  map[string]json.RawMessage
	flaws []fault.FieldError
}

func (f *form) refuse(field, code, detail string) {
	f.flaws = append(f.flaws, fault.FieldError{Field: field, Code: code, Detail: detail})
}

// only refuses members that are none of the names.
func (f *form) only(names ...string) {
	for _, name := range slices.Sorted(maps.Keys(f.sent)) {
		if !slices.Contains(names, name) {
			f.refuse(clipped(name), "unknown_field", "this route takes "+strings.Join(names, ", "))
		}
	}
}

func (f *form) err() error {
	if len(f.flaws) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "nothing was done; errors says what is wrong with the body").With(f.flaws...)
}

// readWish reads {"ids": […]} or {"target", "since", "until"}, and not both.
func readWish(sent map[string]json.RawMessage) (w wish, err error) {
	f := &form{sent: sent}
	f.only("ids", "target", "since", "until")
	if f.sent["ids"] == nil {
		w.target = f.text("target", `name the deliveries with ids, or the target whose failed ones are meant`)
		w.since, w.until = f.instant("since"), f.instant("until")
		if !w.since.IsZero() && !w.until.IsZero() && !w.since.Before(w.until) {
			f.refuse("until", "invalid_value", "must be later than since")
		}
		return w, f.err()
	}
	for _, name := range []string{"target", "since", "until"} {
		if f.sent[name] != nil {
			f.refuse(name, "invalid_value", "does not go with ids: send one or the other")
		}
	}
	w.ids = f.ids()
	return w, f.err()
}

// readIDs reads {"ids": […]}.
func readIDs(sent map[string]json.RawMessage) ([]string, error) {
	f := &form{sent: sent}
	f.only("ids")
	ids := f.ids()
	return ids, f.err()
}

// readTarget reads {"target": "…"}.
func readTarget(sent map[string]json.RawMessage) (string, error) {
	f := &form{sent: sent}
	f.only("target")
	target := f.text("target", "name the target")
	return target, f.err()
}

// ids reads what must be 1 to idLimit ids; one that is there twice counts once.
func (f *form) ids() (ids []string) {
	raw := f.sent["ids"]
	if raw == nil {
		f.refuse("ids", "required", "name the deliveries")
		return nil
	}
	var list []json.RawMessage
	switch err := json.Unmarshal(raw, &list); {
	case err != nil || list == nil:
		f.refuse("ids", "invalid_type", "must be a list of ids")
		return nil
	case len(list) == 0:
		f.refuse("ids", "required", "must name at least one delivery")
	case len(list) > idLimit:
		f.refuse("ids", "limit_exceeded", "may name up to "+strconv.Itoa(idLimit)+" deliveries at a time")
		return nil
	}
	seen := map[string]bool{}
	for i, raw := range list {
		id, ok := text(raw)
		if !ok || !deliveryID.MatchString(id) {
			f.refuse("ids["+strconv.Itoa(i)+"]", "invalid_value", "must be the id of a delivery: U and 26 letters and digits")
		} else if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

func (f *form) text(name, missing string) string {
	raw := f.sent[name]
	s, ok := text(raw)
	switch {
	case raw == nil || ok && s == "":
		f.refuse(name, "required", missing)
	case !ok:
		f.refuse(name, "invalid_type", "must be a string")
	}
	return s
}

// instant reads a time that may be left out.
func (f *form) instant(name string) time.Time {
	raw := f.sent[name]
	if raw == nil {
		return time.Time{}
	}
	s, _ := text(raw)
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || at.IsZero() {
		f.refuse(name, "invalid_value", `must be a time as in RFC 3339, such as "2026-09-17T02:25:12Z"`)
	}
	return at.UTC()
}

// text reads a JSON string; null is none.
func text(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}
