package sqlite

import (
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// dialect is SQLite's part of a predicate's SQL.
type dialect struct{}

var _ predicate.Dialect = dialect{}

// Column implements predicate.Dialect.
func (dialect) Column(f *schema.Field) string { return sqltext.Quote(f.Name) }

// Placeholder implements predicate.Dialect.
func (dialect) Placeholder(n int) string { return "?" + strconv.Itoa(n) }

// Like implements predicate.Dialect: SQLite's own LIKE folds ASCII alone and
// knows no escape without a clause, so the filter grammar's matcher is called.
func (dialect) Like(column string, p *predicate.Pattern, bind func(value.Value) string) string {
	folded := "0"
	if p.Fold() {
		folded = "1"
	}
	return "rowcast_like(" + bind(value.OfText(p.Source())) + ", " + column + ", " + folded + ")"
}

// Has implements predicate.Dialect, by bytes: a text function would stop at
// NUL. An empty text has no blob to cut from (substr of it is NULL), and every
// text begins with, ends with and contains it.
func (d dialect) Has(kind, column string, n int) string {
	have := "CAST(" + column + " AS BLOB)"
	want := "CAST(" + d.Placeholder(n) + " AS BLOB)"
	switch kind {
	case "prefix":
		return "instr(" + have + ", " + want + ") = 1"
	case "suffix":
		return "(length(" + have + ") >= length(" + want + ") AND CASE length(" + want + ") WHEN 0 THEN 1 ELSE substr(" +
			have + ", -length(" + want + ")) = " + want + " END)"
	}
	return "instr(" + have + ", " + want + ") > 0"
}

// registerLike gives the connection the matcher that the memory side uses.
func (c *conn) registerLike() error {
	return c.db.CreateFunction("rowcast_like", 3, sqlite3.DETERMINISTIC, like)
}

func like(ctx sqlite3.Context, arg ...sqlite3.Value) {
	if arg[0].Type() == sqlite3.NULL || arg[1].Type() == sqlite3.NULL {
		ctx.ResultNull() // unknown
		return
	}
	pattern, ok := ctx.GetAuxData(0).(*predicate.Pattern)
	if !ok {
		pattern = predicate.CompileLike(arg[0].Text(), arg[2].Bool())
		ctx.SetAuxData(0, pattern) // the pattern is bound: one a statement
	}
	ctx.ResultBool(pattern.Match(arg[1].Text()))
}
