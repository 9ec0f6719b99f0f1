package postgres

import (
	"strconv"

	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// dialect is PostgreSQL's part of a predicate's SQL. The type of a bound value
// is that of the column beside it.
type dialect struct{}

var _ predicate.Dialect = dialect{}

// Column implements predicate.Dialect.
func (dialect) Column(f *schema.Field) string { return sqltext.Quote(f.Name) }

// Placeholder implements predicate.Dialect.
func (dialect) Placeholder(n int) string { return "$" + strconv.Itoa(n) }

// Like implements predicate.Dialect. PostgreSQL's LIKE agrees with the filter
// grammar's once the pattern is written its way; lower() does not agree with
// ours, so for ilike just what the pattern can meet is translated.
func (dialect) Like(column string, p *predicate.Pattern, bind func(value.Value) string) string {
	pattern, from, to := p.StandardLike()
	text := bind(value.OfText(pattern))
	if from == "" {
		return column + " LIKE " + text
	}
	return "translate(" + column + ", " + bind(value.OfText(from)) + ", " + bind(value.OfText(to)) + ") LIKE " + text
}

// Has implements predicate.Dialect. The columns compare by bytes, and in UTF-8
// no code point begins inside another, so text functions decide as bytes do.
func (d dialect) Has(kind, column string, n int) string {
	want := d.Placeholder(n) + "::text"
	switch kind {
	case "prefix":
		return "starts_with(" + column + ", " + want + ")"
	case "suffix":
		return "right(" + column + ", length(" + want + ")) = " + want
	}
	return "strpos(" + column + ", " + want + ") > 0"
}
