package hub

import (
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

const unknown = value.Unknown

// Verdict is what one subscriber is told of one log row.
type Verdict uint8

// The verdicts.
const (
	Nothing   Verdict = iota
	Tell              // the change
	TellLeave         // that the row is out of sight
	Failed            // the filter could not be evaluated: nothing, and counted
)

// View is what one subscriber may be told: of a declared subscription
// (Declared) or on a channel (Channel), opened by a principal. A View is
// immutable once registered, and safe for concurrent use.
type View interface {
	// Judge decides what the subscriber is told of an entry. It decides a
	// replayed one as it decides a live one.
	Judge(e *tail.Entry) Verdict
	// Frame returns the block that tells the verdict Tell or TellLeave. All who
	// see the same share the bytes: they must not be changed.
	Frame(e *tail.Entry, v Verdict) []byte
	// About says what the view is of, and whose.
	About() About
}

// About says what a subscriber listens to, and who it is.
type About struct {
	Entity       *schema.Entity // the one subscribed to
	Subscription string         // the declared one's name; "" on a channel
	Channel      string         // ENTITY or ENTITY.ID; "" of a declared subscription
	Principal    *access.Principal

	lane lane
}

// eye judges the states of an entity's row for one subscriber. Both kinds of
// view look through it, so that no change is judged in two ways.
type eye struct {
	grant      *access.Grant
	rows       *predicate.Predicate
	ruled      bool   // the entity has row rules
	deletedOn  int    // -1: no soft delete
	filter     filter // nil: none
	ofDeletes  bool   // the filter judges deletes too
	values     bool   // the row travels, so it must pass as read
	judgedFrom []int  // the fields that rules and filter name
}

// filter says which rows a subscriber wants to hear of: True, False, or Maybe
// where it failed.
type filter interface {
	match(row *store.LogRow, cells store.Row) predicate.Truth
}

func newEye(g *access.Grant) eye {
	e := g.Policy.Entity
	y := eye{grant: g, rows: g.Rows(access.Read), ruled: g.Policy.HasRowRules(), deletedOn: -1, judgedFrom: g.Policy.RuleColumns()}
	if e.SoftDelete {
		y.deletedOn, _ = e.Field("deletedon")
	}
	return y
}

// judge decides what the subscriber is told (DESIGN.md, "Judged in memory"): a
// change whose row it may see after it and, where values travel, still, as
// read; a delete whose row it could see before it; a leave, where asked for, of
// a row that it could see before and not after.
func (y *eye) judge(e *tail.Entry, leave bool) Verdict {
	if e.Log.Operation == schema.Delete {
		return verdict(Tell, y.before(e.Log))
	}
	is := y.passes(e.Log, e.Log.Guard.After)
	switch {
	case is == predicate.True && y.values:
		return verdict(Tell, y.now(e))
	case is == predicate.False && leave && e.Log.Operation == schema.Update && y.knows(e.Log.Guard.After):
		return verdict(TellLeave, y.passes(e.Log, e.Log.Guard.Before))
	default:
		return verdict(Tell, is)
	}
}

func verdict(told Verdict, t predicate.Truth) Verdict {
	switch t {
	case predicate.True:
		return told
	case predicate.Maybe:
		return Failed
	default:
		return Nothing
	}
}

// before judges the row that a delete removed.
func (y *eye) before(row *store.LogRow) predicate.Truth {
	if y.ofDeletes {
		return y.passes(row, row.Guard.Before)
	}
	return truth(y.sees(row.Guard.Before))
}

// now judges the row as read.
func (y *eye) now(e *tail.Entry) predicate.Truth {
	if e.Row == nil || (y.deletedOn >= 0 && !e.Row[y.deletedOn].IsNull()) {
		return predicate.False
	}
	if e.Own {
		return predicate.True // the row is the one the guard was taken from
	}
	return y.passes(e.Log, e.Row)
}

// passes judges one state of the row: True, False, or Maybe where the filter
// failed.
func (y *eye) passes(row *store.LogRow, cells store.Row) predicate.Truth {
	switch {
	case !y.sees(cells):
		return predicate.False
	case y.filter == nil:
		return predicate.True
	case cells == nil:
		return predicate.False
	default:
		return y.filter.match(row, cells)
	}
}

// sees judges the row rules. One that cannot be decided hides the row.
func (y *eye) sees(cells store.Row) bool {
	return !y.ruled || (cells != nil && y.rows.Eval(cells) == predicate.True)
}

// knows reports whether the log kept all that the row is judged from. An entry
// older than a rule may lack a cell: that a row does not pass is then not known.
func (y *eye) knows(cells store.Row) bool {
	for _, i := range y.judgedFrom {
		if i >= len(cells) || cells[i].Class() == unknown {
			return false
		}
	}
	return true
}

func truth(is bool) predicate.Truth {
	if is {
		return predicate.True
	}
	return predicate.False
}
