package rowcast

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/engine"
)

// Caller is who asked for an operation.
type Caller struct {
	ID        string // "" when Anonymous
	Anonymous bool
	Roles     []string
	Tenant    string
	Claims    map[string]any // verified; numbers are json.Number
}

// Call is one use of an operation, in its transaction. Its methods are safe for
// concurrent use; all fail once the handler has returned.
//
// A handler is trusted like the schema: it reads every row and every field of the
// datastore as it is, and writes what it likes, whatever the caller may. What the
// schema promises of the data holds all the same: types, validations, unique and
// final fields, events, of which each change has its own. What is written bears
// the caller's name. Only the operation's own row is also held, as it is left, to
// the row rules of the caller.
type Call struct{ tx *engine.Tx }

// Caller is who asked. It is a copy: a credential serves many requests.
func (c *Call) Caller() Caller {
	p := c.tx.Principal()
	return Caller{ID: p.ID, Anonymous: p.Anonymous, Roles: slices.Clone(p.Roles), Tenant: p.Tenant, Claims: maps.Clone(p.Claims)}
}

// Now is the time that the write bears, UTC, in microseconds.
func (c *Call) Now() time.Time { return c.tx.Now() }

// Input decodes the body of the request into v; where it had none, v stays as it
// is. A member that v has no place for, or of another type, is fault invalid.
func (c *Call) Input(v any) error {
	input := c.tx.Input()
	if input == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		return nil
	}
	wrong := fault.FieldError{Code: "invalid_type", Detail: "is not what the operation takes"}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		wrong.Field = kind.Field
	} else if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		wrong = fault.FieldError{Field: strings.Trim(name, `"`), Code: "unknown_field", Detail: "the operation takes no such field"}
	}
	return fault.New(fault.Invalid, "the body is not valid: see errors for each field").With(wrong).Because(err)
}

// Row is the operation's own row, with what Set and Patch have changed so far; nil
// where the operation is on none.
func (c *Call) Row() *Row { return held(c.tx.Row()) }

// Set gives a field of the operation's own row a value, which is what its JSON
// says. The row is written when the handler has returned, once, as one change.
// Fault invalid.
func (c *Call) Set(field string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("set %s: %w", field, err)
	}
	return c.tx.Set(engine.Body{{Name: field, Raw: raw}})
}

// Patch is Set for several fields: the members of what v is as JSON, an object.
func (c *Call) Patch(v any) error {
	b, err := members(v)
	if err != nil {
		return err
	}
	return c.tx.Set(b)
}

// Get reads a row of any entity in the operation's datastore, unless it is
// deleted. Fault not_found.
func (c *Call) Get(entity, id string) (*Row, error) {
	h, err := c.tx.Get(entity, id)
	return held(h), err
}

// Find reads the rows that a query selects: filter, sort, limit and offset, as a
// list over HTTP takes them, so by the fields of filter.fields, but by those that
// the caller may not read, too. Without a limit, more rows than limits.rows are
// fault too_many_rows.
func (c *Call) Find(entity, query string) ([]*Row, error) {
	list, err := c.tx.Find(entity, query)
	if err != nil {
		return nil, err
	}
	rows := make([]*Row, len(list))
	for i, h := range list {
		rows[i] = held(h)
	}
	return rows, nil
}

// Create adds a row of any entity in the operation's datastore: the members of
// what v is as JSON. Of an operation whose action is create, the first row of its
// own entity is its own. A write that fails in the datastore fails the operation,
// whatever the handler makes of the error. Faults: invalid, conflict, row_refused,
// event_condition_failed, too_many_rows.
func (c *Call) Create(entity string, v any) (*Row, error) {
	b, err := members(v)
	if err != nil {
		return nil, err
	}
	h, err := c.tx.Create(entity, b)
	return held(h), err
}

// Update changes fields of any row but the operation's own: the members of what v
// is as JSON, as PATCH takes them. Faults: not_found, and those of Create.
func (c *Call) Update(entity, id string, v any) (*Row, error) {
	b, err := members(v)
	if err != nil {
		return nil, err
	}
	h, err := c.tx.Update(entity, id, b)
	return held(h), err
}

// Delete removes any row, the operation's own too, or marks it as deleted where
// the entity inherits softdelete. Channels are told of the own one as deleted,
// whatever the operation's RealtimeEvent is. Faults: not_found, event_condition_failed.
func (c *Call) Delete(entity, id string) error { return c.tx.Delete(entity, id) }

// Reply gives the answer of an operation of kind read: v as JSON, shown to the
// caller as it stands. Row.Shown is what the caller may read of a row.
func (c *Call) Reply(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	return c.tx.Reply(raw)
}

// members are those of the JSON object that v is.
func members(v any) (engine.Body, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("a row is made of a JSON object: %w", err)
	}
	b, err := engine.DecodeBody(raw)
	if err != nil {
		return nil, fmt.Errorf("a row is made of a JSON object, not of %T: %s", v, err.Error())
	}
	return b, nil
}

// Row is a row as it was when it was read or written. Safe for concurrent use.
type Row struct{ held *engine.Held }

func held(h *engine.Held) *Row {
	if h == nil {
		return nil
	}
	return &Row{h}
}

// Entity is the name of the row's entity.
func (r *Row) Entity() string { return r.held.Entity() }

// ID is the row's id as text.
func (r *Row) ID() string { return r.held.ID() }

// Get decodes the JSON of one field into v, as the field is, mask or not.
func (r *Row) Get(field string, v any) error {
	raw, ok := r.held.Cell(field)
	if !ok {
		return fmt.Errorf("%s has no field %q", r.Entity(), field)
	}
	return json.Unmarshal(raw, v)
}

// Decode decodes the JSON of the whole row into v.
func (r *Row) Decode(v any) error { return json.Unmarshal(r.held.JSON(), v) }

// MarshalJSON is the whole row. It implements json.Marshaler.
func (r *Row) MarshalJSON() ([]byte, error) { return r.held.JSON(), nil }

// Shown is the row as the caller may read it; nil, which is null as JSON, where it
// may not.
func (r *Row) Shown() json.RawMessage { return r.held.Shown() }
