package schema

import (
	"slices"

	"github.com/rowcast/rowcast/internal/document"
)

// draft is an entity whose subscriptions wait for all topics to be known.
type draft struct {
	entity *Entity
	list   *document.Node // its subscriptions
}

func (l *loader) entity(n *document.Node) draft {
	m := n.Map(&l.refusals, entityShape)
	e := &Entity{Index: len(l.model.Entities), ID: -1, Pos: n.Pos, byName: map[string]int{}}
	l.identify(e, m)
	l.fields(e, m)
	l.inherit(e, m.Get("inherits"))
	l.indexes(e, m.Get("indexes"))
	l.access(e, m.Get("access"))
	l.rowRules(e, m.Get("rowrules"))
	filterable := l.filter(e, m.Get("filter"))
	l.events(e, m.Get("events"))
	l.realtime(e, m.Get("realtime"), filterable)
	l.customOperations(e, m.Get("operations"))
	return draft{entity: e, list: m.Get("subscriptions")}
}

// identify reads name, table and datastore, and adds the entity to the model
// where they are free.
func (l *loader) identify(e *Entity, m document.Map) {
	nameNode := m.Need("name", "give the entity a name, which stands in its URLs")
	e.Name = l.name(nameNode, entityName)
	e.Datastore = "main"
	if n := m.Get("datastore"); n != nil {
		e.Datastore = l.name(n, labelName)
	}
	e.Table = l.table(m.Get("table"), e.Name)
	if e.Name == "" {
		return
	}
	if e.Name == "transaction" {
		l.refusals.Add(nameNode.Refusal("no entity may be named transaction: POST /data/transaction is a route of its own; rename it"))
	}
	if first, taken := l.model.byName[e.Name]; taken {
		l.refusals.Add(nameNode.Refusal("entity %q is declared twice, first at %s; rename one", e.Name, first.Pos))
		return
	}
	l.model.byName[e.Name] = e
	l.model.Entities = append(l.model.Entities, e)

	place := nameNode
	if n := m.Get("table"); n != nil {
		place = n
	}
	l.claimTable(e, place)
}

// claimTable gives the entity's table to it alone. SQLite tells no upper from
// lower case in names.
func (l *loader) claimTable(e *Entity, place *document.Node) {
	if e.Table == "" || e.Datastore == "" {
		return
	}
	if prefix := reserved(e.Table); prefix != "" {
		l.refusals.Add(place.Refusal("table %q begins with %s, which is kept for the database's and rowcast's own; set another table", e.Table, prefix))
		return
	}
	key := e.Datastore + "\x00" + fold(e.Table)
	if first, taken := l.tables[key]; taken {
		l.refusals.Add(place.Refusal("table %q in datastore %q belongs to entity %q, upper and lower case being one to a database; set another table",
			e.Table, e.Datastore, first.Name))
		return
	}
	l.tables[key] = e
}

// table reads a table's name, which stands in SQL alone, in quotes.
func (l *loader) table(n *document.Node, entity string) string {
	if n == nil {
		return entity
	}
	text, ok := n.Text(&l.refusals)
	if ok && (text == "" || len(text) > maxName || !printable(text)) {
		l.refusals.Add(n.Refusal("%q cannot name a table; use 1 to %d bytes of printable text", text, maxName))
		return ""
	}
	return text
}

func printable(s string) bool {
	for _, r := range s {
		if r < 0x20 || r == 0x7f {
			return false
		}
	}
	return true
}

// add appends a field under its position, unless its name is taken.
func (e *Entity) add(f *Field) bool {
	for _, other := range e.Fields {
		if fold(other.Name) == fold(f.Name) {
			return false
		}
	}
	f.Index = len(e.Fields)
	e.Fields = append(e.Fields, f)
	e.byName[f.Name] = f.Index
	return true
}

func (l *loader) fields(e *Entity, m document.Map) {
	list := m.Need("fields", "add the entity's fields, id among them")
	broken := list == nil
	for _, item := range list.List(&l.refusals) {
		f := l.field(item, true)
		if f == nil {
			broken = true
			continue
		}
		if !e.add(f) {
			l.refusals.Add(item.Refusal("field %q stands twice in the entity, upper and lower case being one to a database; rename one", f.Name))
		}
	}
	if i, ok := e.byName["id"]; ok {
		e.ID = i
	} else if !broken {
		l.refusals.Add(list.Refusal("no field id, which is the primary key of every entity; add {name: id, type: ulid}"))
	}
}

// positions resolves a list of field names.
func (l *loader) positions(e *Entity, list *document.Node) []int {
	names, items := list.Texts(&l.refusals)
	out := make([]int, 0, len(names))
	for i, name := range names {
		pos, ok := e.byName[name]
		switch {
		case !ok:
			l.unresolved(items[i], "field", e.Names())
		case slices.Contains(out, pos):
			l.refusals.Add(items[i].Refusal("field %q stands twice in the list; keep one", name))
		default:
			out = append(out, pos)
		}
	}
	return out
}

func (l *loader) indexes(e *Entity, list *document.Node) {
	for _, item := range list.List(&l.refusals) {
		index := l.positions(e, item)
		if item.Kind() == document.Sequence && len(item.List(&l.refusals)) == 0 {
			l.refusals.Add(item.Refusal("an index without fields; name at least one"))
			continue
		}
		for _, i := range index {
			if f := e.Fields[i]; !f.Type.Scalar() {
				l.refusals.Add(item.Refusal("field %q of type %s cannot be indexed; take it out of the index", f.Name, f.Type))
			}
		}
		if len(index) > 0 {
			e.Indexes = append(e.Indexes, index)
		}
	}
}
