package sqltext

import (
	"fmt"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// room is how many bytes the texts of one entry of an index may have together.
// PostgreSQL keeps an entry of at most 2704 bytes. It is the same on every
// database, so that rows can be taken from one to another.
const room = 2600

// rooms returns for each field how many bytes a text may have in it, 0 where
// that does not matter. The texts of one index share its room alike: what one may
// hold must not depend on another, which the caller may not be able to read.
func rooms(e *schema.Entity, further [][]int) []int {
	most := make([]int, len(e.Fields))
	for _, ix := range append(Indexes(e, further), Index{Fields: []int{e.ID}}) {
		var texts []int
		for _, f := range ix.Fields {
			if e.Fields[f].Type.Class() == value.Text {
				texts = append(texts, f)
			}
		}
		for _, f := range texts {
			if share := room / len(texts); most[f] == 0 || share < most[f] {
				most[f] = share
			}
		}
	}
	return most
}

// Room refuses a row of which a text is too long for an index that it is in. The
// error is a *fault.Fault with code invalid.
func (t *Table) Room(row store.Row, fields []int) error {
	for _, f := range fields {
		if most := t.rooms[f]; most > 0 && row[f].Class() == value.Text && len(row[f].Text()) > most {
			return t.TooLong(f)
		}
	}
	return nil
}

// TooLong is the refusal of a text in that field, a *fault.Fault.
func (t *Table) TooLong(field int) *fault.Fault {
	name, limit := t.Entity.Fields[field].Name, ""
	if most := t.rooms[field]; most > 0 {
		limit = fmt.Sprintf(" and may have at most %d bytes", most)
	}
	return fault.New(fault.Invalid, "the %s is too long for an index; nothing was written", name).
		With(fault.FieldError{Field: name, Code: "maxlength", Detail: "is part of an index" + limit + "; shorten it"})
}
