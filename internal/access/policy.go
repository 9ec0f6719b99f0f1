package access

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/script"
	"github.com/rowcast/rowcast/schema"
)

// Policy is the compiled access section of one entity.
type Policy struct {
	Entity   *schema.Entity
	actions  *script.Program // nil: absent
	read     *script.Program // nil: absent
	rules    [actionCount][]*predicate.Tree
	judges   [actionCount]Action
	columns  []int
	equality []int
	position map[string]int
	// Where there is no script, all anonymous callers share a view, and all others.
	anonymous, authenticated *view
}

// fallback is the action whose rules judge an action that no rule names.
var fallback = [actionCount]Action{
	Create: Read, Read: Read, Update: Read, Delete: Read, Restore: Update, Purge: Delete, Unmask: Unmask,
}

// Compile compiles access, row rules and masks of an entity, and reports every
// refusal of every script.
func Compile(e *schema.Entity) (*Policy, document.Refusals) {
	p := &Policy{Entity: e, position: make(map[string]int, len(e.Fields))}
	names := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		names[i], p.position[f.Name] = f.Name, i
	}
	var all, refused document.Refusals
	if e.Actions != nil {
		p.actions, refused = script.CompileAccess(*e.Actions, "action", ActionNames())
		all = append(all, refused...)
	}
	if e.Read != nil {
		p.read, refused = script.CompileAccess(*e.Read, "field of "+e.Name, names)
		all = append(all, refused...)
	}
	all = append(all, p.compileRules()...)
	if len(all) > 0 {
		return nil, all
	}
	for a := range actionCount {
		p.judges[a] = p.judge(a)
	}
	if p.actions == nil && p.read == nil {
		every := p.everyField()
		p.anonymous, p.authenticated = p.newView(0, every), p.newView(usual, every)
	}
	return p, nil
}

func (p *Policy) compileRules() document.Refusals {
	var all document.Refusals
	for i := range p.Entity.RowRules {
		r := &p.Entity.RowRules[i]
		tree, refused := predicate.ParseRule(p.Entity, r.Script)
		all = append(all, refused...)
		for _, name := range r.Actions {
			a, ok := ParseAction(name)
			if !ok || a == Unmask {
				all = append(all, document.Refusal{Pos: r.Pos, Message: fmt.Sprintf(
					"row rule %s: %q is no action of rows; there are create, read, update, delete, restore and purge", r.Name, name)})
				continue
			}
			p.rules[a] = append(p.rules[a], tree)
		}
		if tree != nil {
			p.columns = union(p.columns, tree.Columns())
			p.equality = union(p.equality, tree.EqualityColumns())
		}
	}
	return all
}

// union merges two lists of positions, ascending and without doubles.
func union(a, b []int) []int {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

// HasRowRules reports whether the entity has row rules.
func (p *Policy) HasRowRules() bool { return len(p.Entity.RowRules) > 0 }

// RuleColumns returns the fields that row rules name, ascending: what a log
// row's guard keeps. The caller must not change it.
func (p *Policy) RuleColumns() []int { return p.columns }

// EqualityColumns returns the fields that row rules compare for equality,
// ascending: what boot indexes. The caller must not change it.
func (p *Policy) EqualityColumns() []int { return p.equality }

// Grant evaluates the policy for a principal. The Grant is never nil. An error
// in a script denies what the script was to grant; it is returned as a warning
// for the log, beside a Grant that stands.
func (p *Policy) Grant(pr *Principal) (*Grant, error) {
	g := &Grant{Policy: p, Principal: pr}
	var warning error
	switch {
	case p.authenticated == nil:
		actions, err := p.actionsOf(pr)
		fields, err2 := p.fieldsOf(pr)
		g.view = p.newView(actions, fields)
		warning = errors.Join(err, err2)
	case pr.Anonymous:
		g.view = p.anonymous
	default:
		g.view = p.authenticated
	}
	g.bind()
	return g, warning
}

func (p *Policy) actionsOf(pr *Principal) (actionSet, error) {
	if p.actions == nil {
		if pr.Anonymous {
			return 0, nil
		}
		return usual, nil
	}
	names, all, err := p.actions.RunAccess(pr.User())
	switch {
	case err != nil:
		return 0, fmt.Errorf("access.actions of %s: %w", p.Entity.Name, err)
	case all:
		return allActions, nil
	}
	var set actionSet
	for _, name := range names {
		a, ok := ParseAction(name)
		if !ok {
			err = errors.Join(err, fmt.Errorf("access.actions of %s: no action is named %q", p.Entity.Name, name))
			continue
		}
		set |= 1 << a
	}
	return set, err
}

// fieldsOf returns which fields access.read yields. The id is one of them
// always: it is readable to whoever reads the entity.
func (p *Policy) fieldsOf(pr *Principal) ([]bool, error) {
	if p.read == nil {
		return p.everyField(), nil
	}
	fields := make([]bool, len(p.Entity.Fields))
	fields[p.Entity.ID] = true
	names, all, err := p.read.RunAccess(pr.User())
	switch {
	case err != nil:
		return fields, fmt.Errorf("access.read of %s: %w", p.Entity.Name, err)
	case all:
		return p.everyField(), nil
	}
	for _, name := range names {
		i, ok := p.position[name]
		if !ok {
			err = errors.Join(err, fmt.Errorf("access.read of %s: no field is named %q", p.Entity.Name, name))
			continue
		}
		fields[i] = true
	}
	return fields, err
}

func (p *Policy) everyField() []bool {
	fields := make([]bool, len(p.Entity.Fields))
	for i := range fields {
		fields[i] = true
	}
	return fields
}
