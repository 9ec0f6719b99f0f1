// Package sqltext writes the SQL that every driver of package store runs alike:
// the selection of a query, the statements that write a row, a table and which
// indexes it has. Where databases differ, a predicate.Dialect or the driver fills in.
//
// Names are quoted by Quote alone, and every value is bound. A Table is
// immutable and safe for concurrent use; the functions are pure. The package
// may import fault, value, schema, predicate and store.
package sqltext

import (
	"strings"

	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Quote is the one way a name gets into SQL.
func Quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Table is the table of one entity.
type Table struct {
	Entity  *schema.Entity
	Name    string         // quoted, behind its namespace
	Columns []string       // quoted, by field position
	List    string         // the columns with commas between
	ID      string         // the column of the key
	Draws   bool           // the database draws a key that is not given
	ByName  map[string]int // field positions

	// Get, Insert and Delete have a row's key, its cells in order, and its key as
	// their parameters.
	Get, Insert, Delete string

	dialect predicate.Dialect
	deleted int   // position of deletedon, or -1
	all     []int // every field
	rooms   []int // see room
}

// NewTable returns the entity's table in a namespace, which is quoted and ends
// with its dot, or is empty. further are indexes beside those of the entity.
func NewTable(d predicate.Dialect, namespace string, e *schema.Entity, further [][]int) *Table {
	t := &Table{
		Entity: e, Name: namespace + Quote(e.Table), ByName: make(map[string]int, len(e.Fields)),
		dialect: d, deleted: -1, rooms: rooms(e, further),
	}
	for i, f := range e.Fields {
		t.Columns = append(t.Columns, d.Column(f))
		t.ByName[f.Name] = i
		t.all = append(t.all, i)
		if e.SoftDelete && f.Name == "deletedon" {
			t.deleted = i
		}
	}
	t.ID = t.Columns[e.ID]
	t.Draws = e.Fields[e.ID].Type.Class() == value.Int
	t.List = strings.Join(t.Columns, ", ")
	t.Get = "SELECT " + t.List + " FROM " + t.Name + " WHERE " + t.ID + " = " + d.Placeholder(1)
	t.Insert = t.InsertBut(-1)
	t.Delete = "DELETE FROM " + t.Name + " WHERE " + t.ID + " = " + d.Placeholder(1)
	return t
}

// All is the positions of the fields.
func (t *Table) All() []int { return t.all }

// InsertBut is Insert without the field at that position: the database fills it.
func (t *Table) InsertBut(field int) string {
	var names, marks []string
	for i, column := range t.Columns {
		if i != field {
			names = append(names, column)
			marks = append(marks, t.dialect.Placeholder(len(names)))
		}
	}
	if len(names) == 0 {
		return "INSERT INTO " + t.Name + " DEFAULT VALUES"
	}
	return "INSERT INTO " + t.Name + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
}

// Create returns the statement that makes the table. Columns are nullable: that
// a field is required is the engine's check, so that loosening a schema never
// needs a table rewritten. key follows the type of the key.
func (t *Table) Create(typeOf func(*schema.Field) string, key string) string {
	var b strings.Builder
	b.WriteString("CREATE TABLE " + t.Name + " (")
	for i, f := range t.Entity.Fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(t.Columns[i] + " " + typeOf(f))
		if i == t.Entity.ID {
			b.WriteString(key)
		}
	}
	b.WriteString(")")
	return b.String()
}

// seen returns the condition of what a query sees of a soft-delete entity, or "".
func (t *Table) seen(d store.Deleted) string {
	switch {
	case d == store.All, t.deleted < 0 && d == store.Live:
		return ""
	case t.deleted < 0:
		return "(1 = 0)" // nothing of an entity without soft delete is deleted
	case d == store.OnlyDeleted:
		return t.Columns[t.deleted] + " IS NOT NULL"
	}
	return t.Columns[t.deleted] + " IS NULL"
}
