package rowcast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/internal/boot"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/schema"
)

// Operation is a custom operation of an entity, done in Go (channels contract,
// section 1). It may complete one that the schema declares without set; then what
// is left out here is as declared there, and what is said must agree.
type Operation struct {
	// Entity is the operation's own; each tenant that declares it gets the
	// operation. Required.
	Entity string
	// Name stands in the URL: letters, digits, _ and -. Required.
	Name string
	// Kind is "write" or "read". Defaults to "write". One that reads answers with
	// what its handler gives to Call.Reply, and can write nothing.
	Kind string
	// Cardinality is "one" or "many". Defaults to "one".
	//
	// One is POST /data/{entity}/{id}/{name}, on a row that is there; where Action
	// is "create", POST /data/{entity}/{name}, and the handler makes the row. It
	// answers 200 and the row. Many is POST /data/{entity}/{name}, on no row in
	// particular, and answers how many rows were written.
	Cardinality string
	// Action is the access action, and the row rules, that judge the caller: of one
	// that writes "update", "delete" or "create", of one that reads "read",
	// "update" or "delete". Defaults to the first.
	Action string
	// RealtimeEvent is what channels and transports are told that the operation's
	// own row was: "created", "updated", "patched", "deleted" or "restored".
	// Defaults to "": they are told nothing of it. Only of kind write and
	// cardinality one.
	RealtimeEvent string
	// Handler does the work. Required.
	Handler Handler
}

// Handler does the work of an operation, in a transaction: all of it is written,
// or, where the handler returns an error, nothing. A *fault.Fault is the caller's
// answer; any other error is logged, and the caller is told 500.
//
// It has 5 seconds, after which ctx ends and its transaction is taken from it. On
// SQLite nobody else writes meanwhile, so it must wait for nothing outside: no
// other server, and not rowcast itself. Where the store had to undo a run, it is
// called again.
type Handler func(ctx context.Context, c *Call) error

// String names the operation for a person.
func (o Operation) String() string { return fmt.Sprintf("operation %q of entity %q", o.Name, o.Entity) }

// checkOperations refuses what is wrong with operations whatever the schema says.
func checkOperations(list []Operation) error {
	var errs []error
	seen := map[string]bool{}
	for _, o := range list {
		if o.Handler == nil {
			errs = append(errs, fmt.Errorf("%v has no handler; give it one, or declare in the schema what it sets", o))
		}
		key := o.Entity + "/" + strings.ToLower(o.Name)
		if seen[key] {
			errs = append(errs, fmt.Errorf("%v is given twice, upper and lower case being one here; remove or rename one", o))
		}
		seen[key] = true
	}
	return errors.Join(errs...)
}

// handles reports whether one of the operations is that of a schema.
func (c Config) handles(entity, operation string) bool {
	return slices.ContainsFunc(c.Operations, func(o Operation) bool { return o.Entity == entity && o.Name == operation })
}

// knownOperations refuses operations that no tenant's schema has an entity for,
// and those that a schema does not bear.
func knownOperations(list []Operation, tenants []boot.Tenant) error {
	var errs []error
	for _, o := range list {
		known := false
		for i := range tenants {
			e, ok := tenants[i].Model.Entity(o.Entity)
			if !ok {
				continue
			}
			known = true
			if _, err := o.of(e); err != nil {
				errs = append(errs, fmt.Errorf("%v: %w", o, err))
				break
			}
		}
		if !known {
			errs = append(errs, fmt.Errorf("%v: no tenant's schema declares that entity; correct the name, or declare it", o))
		}
	}
	return errors.Join(errs...)
}

// of is the operation as the entity has it.
func (o Operation) of(e *schema.Entity) (*schema.Operation, error) {
	given := schema.Operation{Name: o.Name, Kind: o.Kind, Cardinality: o.Cardinality, Action: o.Action, Event: schema.RealtimeEvent(o.RealtimeEvent)}
	if _, declared := e.Operation(o.Name); !declared {
		given.Kind, given.Cardinality = cmp.Or(o.Kind, "write"), cmp.Or(o.Cardinality, "one")
	}
	return e.Handled(given)
}

// handlers are the operations of a datastore's entities, for its engine.
func (c Config) handlers(m *schema.Model, datastore string) (all []engine.Handler) {
	for _, o := range c.Operations {
		e, ok := m.Entity(o.Entity)
		if !ok || e.Datastore != datastore {
			continue
		}
		if op, err := o.of(e); err == nil { // knownOperations has refused any other
			all = append(all, engine.Handler{Entity: e.Name, Operation: op, Do: o.do})
		}
	}
	return all
}

func (o Operation) do(ctx context.Context, t *engine.Tx) error { return o.Handler(ctx, &Call{tx: t}) }
