package schema

import (
	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
)

// Model is a whole schema. It is immutable once loaded and safe for concurrent use.
type Model struct {
	Enums    []*Enum
	Entities []*Entity // in declared order, files in name order
	byName   map[string]*Entity
	topics   []*Topic
}

// Entity returns the entity of that name.
func (m *Model) Entity(name string) (*Entity, bool) {
	e, ok := m.byName[name]
	return e, ok
}

// Enum is a closed list of text values.
type Enum struct {
	Name   string
	Values []string
	Pos    document.Pos
}

// Has reports whether the text is a member.
func (e *Enum) Has(text string) bool {
	for _, v := range e.Values {
		if v == text {
			return true
		}
	}
	return false
}

// Entity is one declared entity. Field positions (indexes into Fields) are how
// the rest of rowcast names a column: a row is a []value.Value in this order.
type Entity struct {
	Name, Table, Datastore string
	Index                  int      // position in Model.Entities
	Fields                 []*Field // own fields in declared order, then traits' in inherits order
	ID                     int      // position of the field "id"
	SoftDelete             bool     // inherits softdelete: has deletedby, deletedon
	Common                 bool     // inherits common: has createdby, createdon, updatedby, updatedon
	Indexes                [][]int
	Actions, Read          *Script // access.actions, access.read; nil when absent
	RowRules               []RowRule
	Filter                 Filter
	Events                 []Publisher
	Subscriptions          []Subscription
	Realtime               *Realtime // nil: absent
	Operations             []Operation
	Pos                    document.Pos
	byName                 map[string]int
}

// Field returns the position of a field, or false.
func (e *Entity) Field(name string) (int, bool) {
	i, ok := e.byName[name]
	return i, ok
}

// Names returns the names of the entity's fields, in order.
func (e *Entity) Names() []string {
	names := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		names[i] = f.Name
	}
	return names
}

// Subscription returns the declared subscription of that name.
func (e *Entity) Subscription(name string) (*Subscription, bool) {
	for i := range e.Subscriptions {
		if e.Subscriptions[i].Name == name {
			return &e.Subscriptions[i], true
		}
	}
	return nil, false
}

// Field is one declared field.
type Field struct {
	Name        string
	Index       int
	Type        value.Type
	Enum        *Enum // for value.Enum
	Required    bool  // not nullable; always so for id
	Unique      bool
	Final       bool
	Validations []Validation // all, in declared order
	Default     *Default
	Mask        *Mask
	System      bool // set by rowcast alone: common's and softdelete's fields; never accepted in a body
	Pos         document.Pos
}

// Validation is one entry of validations.
type Validation struct {
	Kind    string        // required, unique, final, min, max, minlength, maxlength, pattern, oneof
	Value   value.Value   // min, max: of the field's type
	Length  int           // minlength, maxlength, in code points (elements of an array, bytes of bytes)
	Pattern string        // pattern, RE2; it may match anywhere unless it says ^ and $
	OneOf   []value.Value // oneof
	Message string        // optional, replaces the built-in detail
	Pos     document.Pos
}

// DefaultKind says how a default is made.
type DefaultKind uint8

// The kinds of default.
const (
	DefaultLiteral DefaultKind = iota
	DefaultULID
	DefaultUUID
	DefaultNow
	DefaultUserID
)

// Default is a field's defaultvalue. An id of type ulid or uuid has one even
// where the schema writes none.
type Default struct {
	Kind  DefaultKind
	Value value.Value // for DefaultLiteral
}

// Mask hides all but the last KeepLast code points of a string, each hidden one
// shown as '*'. Every other type, enums too, shows null.
type Mask struct{ KeepLast int }

// RowRule is one row rule.
type RowRule struct {
	Name    string
	Actions []string // create, read, update, delete, restore, purge
	Script  Script
	Pos     document.Pos
}

// Filter is what REST lists, many-row writes and channels may filter by.
type Filter struct {
	Fields         []int // positions; absent in YAML: all scalar fields
	MaxDepth       int   // defaults to 3
	MaxInValues    int   // defaults to 100
	MaxLikePattern int   // defaults to 200, in code points
}

// Publisher is one entry of events.
type Publisher struct {
	Name       string // defaults to the topic
	Index      int
	Operations OpSet
	Condition  *Script
	Topic      string
	Include    []int // nil when not declared
	Exclude    []int
	Bulk       bool // defaults to true
	Pos        document.Pos
}

// Keeps reports whether the publisher leaves field i in data: Exclude is
// ignored when Include is set (contract: events).
func (p *Publisher) Keeps(i int) bool {
	if p.Include != nil {
		return contains(p.Include, i)
	}
	return !contains(p.Exclude, i)
}

// Subscription is one entry of subscriptions.
type Subscription struct {
	Name       string
	Index      int
	Source     string // topic
	Operations OpSet  // eventtypes
	ScopeUser  bool
	RLS        bool
	Filter     *Script
	Pos        document.Pos
}

func contains(list []int, i int) bool {
	for _, x := range list {
		if x == i {
			return true
		}
	}
	return false
}
