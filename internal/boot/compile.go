package boot

import (
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/script"
	"github.com/rowcast/rowcast/schema"
)

// compiled is one schema with its policies. Both are immutable, so that
// tenants with the same schema share them.
type compiled struct {
	model    *schema.Model // nil where the schema is refused
	policies map[string]*access.Policy
}

func (l *loader) readSchema(t *Tenant, node *document.Node) {
	path, ok := node.Text(&l.refusals)
	if !ok {
		return
	}
	t.Schema = l.resolve(path)
	if _, err := os.Stat(t.Schema); err != nil {
		l.refusals.Add(node.Refusal("the schema cannot be read: %s; name a file or folder, relative to this document", reason(err)))
		return
	}
	c, known := l.schemas[t.Schema]
	if !known {
		c = l.compile(t.Schema)
		l.schemas[t.Schema] = c
	}
	t.Model, t.Policies = c.model, c.policies
	if c.model != nil && len(t.Datastores) > 0 {
		l.matchDatastores(t)
	}
}

// compile reads a schema and compiles every rule and script in it. What the
// compilers make is kept for policies only: units compile their scripts anew,
// but here is where all that is wrong is said at once.
func (l *loader) compile(path string) compiled {
	model, refusals := schema.Load(path)
	l.refusals.Add(refusals...)
	if model == nil || len(refusals) > 0 {
		return compiled{}
	}
	l.refusals.Add(model.Unhandled(l.handled)...)
	c := compiled{model: model, policies: map[string]*access.Policy{}}
	for _, e := range model.Entities {
		policy, refusals := access.Compile(e)
		l.refusals.Add(refusals...)
		c.policies[e.Name] = policy
		for i := range e.Events {
			if e.Events[i].Condition != nil {
				_, refusals := script.CompileCondition(e, *e.Events[i].Condition)
				l.refusals.Add(refusals...)
			}
		}
		for i := range e.Subscriptions {
			l.compileFilter(model, e, &e.Subscriptions[i])
		}
		for i := range e.Operations {
			l.compileSet(e, &e.Operations[i])
		}
	}
	return c
}

// compileSet checks what an operation computes against the fields it sets.
func (l *loader) compileSet(e *schema.Entity, op *schema.Operation) {
	for _, a := range op.Set {
		if a.Script != nil {
			_, refusals := script.CompileAssignment(e, a.Field, *a.Script)
			l.refusals.Add(refusals...)
		}
	}
}

// compileFilter checks a subscription's filter against every publisher that it
// will hear: each has its own fields, and its own selection of them.
func (l *loader) compileFilter(model *schema.Model, e *schema.Entity, s *schema.Subscription) {
	if s.Filter == nil {
		return
	}
	for _, from := range model.Source(e, s) {
		_, refusals := script.CompileFilter(from.Entity, *s.Filter, from.Publisher.Keeps)
		l.refusals.Add(refusals...)
	}
}

// matchDatastores refuses entities whose datastore the tenant does not declare.
func (l *loader) matchDatastores(t *Tenant) {
	declared := slices.Sorted(maps.Keys(t.Datastores))
	used := map[string]bool{}
	for _, e := range t.Model.Entities {
		used[e.Datastore] = true
		if !slices.Contains(declared, e.Datastore) {
			l.refusals.Refuse(e.Pos, "entity %s lives in datastore %q, which tenant %s does not declare; %s",
				e.Name, e.Datastore, t.Name, document.WayOut(e.Datastore, declared))
		}
	}
	for _, name := range declared {
		if !used[name] {
			l.doc.Warnings.Refuse(t.Datastores[name].Pos, "no entity of tenant %s lives in datastore %s", t.Name, name)
		}
	}
}

func lineOf(n *document.Node) string { return strconv.Itoa(n.Pos.Line) }
