package schema

import (
	"slices"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
)

func (l *loader) enum(n *document.Node) {
	m := n.Map(&l.refusals, enumShape)
	nameNode := m.Need("name", "give the enum a name, which fields use as their type")
	name := l.name(nameNode, labelName)
	e := &Enum{Name: name, Values: l.enumValues(m), Pos: n.Pos}
	if name == "" {
		return
	}
	if _, taken := value.ParseType(name); taken || name == value.Enum.String() {
		l.refusals.Add(nameNode.Refusal("enum %q has the name of a built-in type; rename it", name))
		return
	}
	if first, taken := l.enums[name]; taken {
		l.refusals.Add(nameNode.Refusal("enum %q is declared twice, first at %s; rename one", name, first.Pos))
		return
	}
	l.enums[name] = e
	l.model.Enums = append(l.model.Enums, e)
}

func (l *loader) enumValues(m document.Map) []string {
	list := m.Need("values", "add values: [{value: …}]")
	if list != nil && list.Kind() == document.Sequence && len(list.List(&l.refusals)) == 0 {
		l.refusals.Add(list.Refusal("values is empty; add at least one {value: …}"))
	}
	var values []string
	for _, item := range list.List(&l.refusals) {
		n := item.Map(&l.refusals, enumValueShape).Need("value", "write {value: …}")
		text, ok := n.Text(&l.refusals)
		if !ok {
			continue
		}
		if _, err := value.ParseText(value.Enum, text); err != nil || text == "" {
			l.refusals.Add(n.Refusal("%q is no value of an enum; write a text without U+0000 that is not empty", text))
		} else if slices.Contains(values, text) {
			l.refusals.Add(n.Refusal("value %q stands twice in the enum; keep one", text))
		} else {
			values = append(values, text)
		}
	}
	return values
}
