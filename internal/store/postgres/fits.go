package postgres

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/postgres/sqlstate"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// fits refuses cells before they are sent: an error of the server would take the
// transaction with it.
func (p *plan) fits(row store.Row, fields []int) error {
	for _, i := range fields {
		if err := keeps(p.Entity.Fields[i], row[i]); err != nil {
			return err
		}
	}
	return p.Room(row, fields)
}

// keeps refuses what a column of the field would not take, or not as it is.
func keeps(f *schema.Field, v value.Value) error {
	switch class := v.Class(); {
	case class == value.Null:
		return nil
	case class != f.Type.Class():
		return fmt.Errorf("field %s: a value of another class, or none at hand", f.Name)
	case class == value.Float && math.IsNaN(v.Float()):
		return fmt.Errorf("field %s: not a number", f.Name)
	case class == value.Text && !keepable(v.Text()):
		return fmt.Errorf("field %s: a text with NUL or not in UTF-8, which PostgreSQL cannot keep", f.Name)
	}
	return nil
}

// keepable reports a text that PostgreSQL can hold. One that it cannot hold is
// no row's, and must not be sent to look for.
func keepable(s string) bool {
	return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}

// tooLong is what to make of an index that refused a row as too large: one of the
// operator's own, since those of rowcast were asked before.
func (p *plan) tooLong(row store.Row, fields []int, err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != sqlstate.TooLarge || pg.ConstraintName == "" {
		return err
	}
	longest, size := -1, 0
	for _, f := range fields {
		if n := len(row[f].Text()); row[f].Class() == value.Text && n > size {
			longest, size = f, n
		}
	}
	if longest < 0 {
		return err
	}
	return p.TooLong(longest).Because(err)
}
