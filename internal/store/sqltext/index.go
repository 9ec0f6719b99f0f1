package sqltext

import (
	"slices"
	"strings"

	"github.com/rowcast/rowcast/schema"
)

// UniqueSuffix ends the name of an index that makes a field unique, and of no other.
const UniqueSuffix = ":unique"

// Index is one index that the schema asks for. A unique one has one field.
type Index struct {
	Fields []int
	Unique bool
}

// Indexes returns the indexes of an entity: of unique fields, the declared ones,
// and of the further ones those that no other serves.
func Indexes(e *schema.Entity, further [][]int) []Index {
	var list []Index
	for i, f := range e.Fields {
		if f.Unique && i != e.ID {
			list = append(list, Index{Fields: []int{i}, Unique: true})
		}
	}
	for _, fields := range e.Indexes {
		list = append(list, Index{Fields: fields})
	}
	for _, fields := range further {
		if !served(e, fields) {
			list = append(list, Index{Fields: fields})
		}
	}
	return list
}

// served reports that the key or a declared index already begins with the fields.
func served(e *schema.Entity, fields []int) bool {
	if len(fields) == 1 && (fields[0] == e.ID || e.Fields[fields[0]].Unique) {
		return true
	}
	return slices.ContainsFunc(e.Indexes, func(ix []int) bool {
		return len(ix) >= len(fields) && slices.Equal(ix[:len(fields)], fields)
	})
}

// Name says what the index holds, so that one of that name need not be compared.
// It is base and suffix, for a database that must shorten what is before the suffix.
func (ix Index) Name(e *schema.Entity) (base, suffix string) {
	names := make([]string, len(ix.Fields))
	for i, f := range ix.Fields {
		names[i] = e.Fields[f].Name
	}
	if ix.Unique {
		suffix = UniqueSuffix
	}
	return e.Table + ":" + strings.Join(names, ","), suffix
}

// Keys returns the columns of an index with commas between.
func (t *Table) Keys(ix Index) string {
	columns := make([]string, len(ix.Fields))
	for i, f := range ix.Fields {
		columns[i] = t.Columns[f]
	}
	return strings.Join(columns, ", ")
}
