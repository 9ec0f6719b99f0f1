package hub

import (
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/script"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/schema"
)

// Verdict is what one subscriber is told of one log row.
type Verdict uint8

// The verdicts.
const (
	Nothing   Verdict = iota
	Tell              // the change
	TellLeave         // that the row is out of sight
	Failed            // the filter could not be evaluated: nothing, and counted
)

// View is what one subscriber may be told: a subscription, opened by a
// principal. It is immutable and safe for concurrent use.
type View struct {
	Tenant       string
	Entity       *schema.Entity // the one subscribed to
	Subscription *schema.Subscription
	Topic        string
	Ops          schema.OpSet // what the subscription declares, perhaps narrowed
	Leave        bool
	Principal    *access.Principal
	lenses       []lens
}

// Source is an entity that publishes to the topic, as the principal may read it.
type Source struct {
	Publisher *schema.Publisher
	Grant     *access.Grant
	Filter    *script.Program // nil: none
}

// lens is a Source, prepared.
type lens struct {
	Source
	entity    *schema.Entity
	rows      *predicate.Predicate
	ruled     bool // the entity has row rules
	deletedOn int  // -1: no soft delete
	key       frameKey
}

// See adds an entity that publishes to the topic.
func (v *View) See(s Source) {
	e := s.Grant.Policy.Entity
	l := lens{
		Source: s, entity: e, rows: s.Grant.Rows(access.Read), ruled: s.Grant.Policy.HasRowRules(), deletedOn: -1,
		key: frameKey{subscription: v.Subscription},
	}
	if v.Subscription.RLS {
		l.key.view = s.Grant.ViewKey()
	}
	if e.SoftDelete {
		l.deletedOn, _ = e.Field("deletedon")
	}
	v.lenses = append(v.lenses, l)
}

func (v *View) lens(e *schema.Entity) *lens {
	for i := range v.lenses {
		if v.lenses[i].entity == e {
			return &v.lenses[i]
		}
	}
	return nil
}

// Judge decides what the subscriber is told (DESIGN.md, "Judged in memory"):
// a change whose row it may see after it and still, as read; a delete whose row
// it could see before it; a leave, where asked for, of a row that it could see
// before and not after. It decides a replayed entry as it decides a live one.
func (v *View) Judge(e *tail.Entry) Verdict {
	l := v.lens(e.Entity)
	if l == nil || e.Log.Topic != v.Topic || !v.Ops.Has(e.Log.Operation) || !v.inScope(e.Log) {
		return Nothing
	}
	if e.Log.Operation == schema.Delete {
		return verdict(Tell, l.passes(v, e.Log, e.Log.Guard.Before))
	}
	is := l.passes(v, e.Log, e.Log.Guard.After)
	switch {
	case is == predicate.True && v.Subscription.RLS:
		return verdict(Tell, l.now(v, e))
	case is == predicate.False && v.Leave && e.Log.Operation == schema.Update:
		return verdict(TellLeave, l.passes(v, e.Log, e.Log.Guard.Before))
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

// inScope keeps a subscription's scope: user narrows to the writes this caller made. Two
// anonymous callers are never the same one.
func (v *View) inScope(row *store.LogRow) bool {
	return !v.Subscription.ScopeUser || (row.Actor != "" && !v.Principal.Anonymous && row.Actor == v.Principal.ID)
}

// now judges the row as read.
func (l *lens) now(v *View, e *tail.Entry) predicate.Truth {
	if e.Row == nil || (l.deletedOn >= 0 && !e.Row[l.deletedOn].IsNull()) {
		return predicate.False
	}
	if e.Own {
		return predicate.True // the row is the one the guard was taken from
	}
	return l.passes(v, e.Log, e.Row)
}

// passes judges one state of the row: True, False, or Maybe where the filter
// failed. A row rule that cannot be decided hides the row.
func (l *lens) passes(v *View, row *store.LogRow, cells store.Row) predicate.Truth {
	if l.ruled && (cells == nil || l.rows.Eval(cells) != predicate.True) {
		return predicate.False
	}
	if l.Filter == nil {
		return predicate.True
	}
	if cells == nil {
		return predicate.False
	}
	ok, err := l.Filter.RunFilter(script.Delivery{Payload: l.shown(cells), Event: describe(v, row), User: l.Grant.User()})
	switch {
	case err != nil:
		return predicate.Maybe
	case ok:
		return predicate.True
	default:
		return predicate.False
	}
}

// shown is the row as rls would show it to this subscriber, in the cells that
// the filter names: a filter must not tell what a read would not.
func (l *lens) shown(cells store.Row) store.Row {
	shown := make(store.Row, len(cells))
	for _, i := range l.Filter.Fields() {
		if !l.Publisher.Keeps(i) {
			continue
		}
		shown[i] = cells[i]
		if cells[i].Class() != unknown {
			shown[i], _ = l.Grant.Show(i, cells[i])
		}
	}
	return shown
}
