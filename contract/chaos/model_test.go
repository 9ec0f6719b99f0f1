package chaos

import (
	"slices"
	"sync"
)

// version is what a row is after a change, and the change.
type version struct {
	op      string // create, update or delete: the event's operation
	actor   string
	v       string // unlike in all versions but those of a delete and a restore
	n       int
	owner   string
	deleted bool // soft-deleted
	gone    bool
}

func (a version) same(b version) bool {
	if a.gone || b.gone {
		return a.gone == b.gone
	}
	return a.v == b.v && a.n == b.n && a.owner == b.owner && a.deleted == b.deleted
}

// row is all committed versions of one row, in order. Its writer alone changes it.
type row struct {
	entity, id string
	versions   []version
}

func (r *row) last() version {
	if len(r.versions) == 0 {
		return version{gone: true}
	}
	return r.versions[len(r.versions)-1]
}

func (r *row) before(i int) version {
	if i == 0 {
		return version{gone: true}
	}
	return r.versions[i-1]
}

func (r *row) live() bool { return !r.last().gone && !r.last().deleted }

// change is one that a request asks for.
type change struct {
	row *row
	to  version
}

// world is all rows there ever were.
type world struct {
	mu   sync.Mutex
	rows map[string]*row // by entity/id
}

func (w *world) add(r *row) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows[r.entity+"/"+r.id] = r
}

func (w *world) find(entity, id string) *row {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rows[entity+"/"+id]
}

// kind is one way to subscribe.
type kind struct {
	entity, name, user, query string

	rls, leave, scope bool
	ops               []string
	least             int // the subscription's filter: payload.n >= least
}

// sees reports whether the subscriber may see a version: by the row rules, and
// by the filter.
func (k *kind) sees(v version) bool {
	return k.reads(v) && v.n >= k.least
}

// reads is what the row rules alone say.
func (k *kind) reads(v version) bool {
	return !v.gone && (k.entity != "note" || k.user == "sue" || v.owner == k.user)
}

// duty is whether a change must, may or must not be told, and as what.
type duty struct {
	must, may bool
	event     string
}

// duty is the rule under test, for change i of a row.
func (k *kind) duty(r *row, i int) duty {
	before, after := r.before(i), r.versions[i]
	if !slices.Contains(k.ops, after.op) || (k.scope && after.actor != k.user) {
		return duty{}
	}
	if after.op == "delete" {
		switch {
		case before.deleted && k.entity == "note":
			return duty{} // nobody could see it any more
		case before.deleted && k.least > 0:
			return duty{may: k.sees(before), event: "entity.delete"}
		}
		return duty{must: k.sees(before), may: k.sees(before), event: "entity.delete"}
	}
	event := "entity." + after.op
	switch {
	case !k.sees(after) && k.leave && after.op == "update" && !before.deleted:
		return duty{must: k.sees(before), may: k.sees(before), event: "entity.leave"}
	case !k.sees(after):
		return duty{}
	case !k.rls:
		return duty{must: true, may: true, event: event}
	}
	stays := !slices.ContainsFunc(r.versions[i:], func(v version) bool { return v.deleted || !k.sees(v) })
	return duty{must: stays, may: true, event: event}
}
