package engine

import (
	"github.com/rowcast/rowcast/internal/render"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

// Held is a row as a handler holds it: a copy, as it was when it was read or
// written. Safe for concurrent use.
type Held struct {
	tx  *Tx
	ent *entity
	row store.Row
}

// Entity is the name of the row's entity.
func (h *Held) Entity() string { return h.ent.Name }

// ID is the row's id as text.
func (h *Held) ID() string { return h.ent.subject(h.row) }

// JSON renders the whole row, every field as it is.
func (h *Held) JSON() []byte { return render.Row(nil, h.tx.whole(h.ent), nil, h.row) }

// Cell is the JSON of one field, as it is.
func (h *Held) Cell(field string) (json []byte, ok bool) {
	i, ok := h.ent.Field(field)
	if !ok {
		return nil, false
	}
	return value.AppendJSON(nil, h.ent.Fields[i].Type, h.row[i]), true
}

// Shown renders the row as the operation's caller may read it; nil where it may
// not.
func (h *Held) Shown() []byte {
	g := h.tx.use.grantOn(h.ent)
	row := h.ent.shown(g, h.row)
	if row == nil {
		return nil
	}
	return render.Row(nil, g, nil, row)
}
