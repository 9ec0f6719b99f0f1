package rowcast

import (
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
	// Action is the access action, and the row rules, that judge the caller:
	// "create", "read", "update" or "delete". Defaults to "update", of one that
	// reads to "read".
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

var (
	// standardOperations are taken, in any letter case (channels contract, section 1).
	standardOperations = []string{"createOne", "findOne", "findMany", "updateOne", "patchOne", "deleteOne", "restoreOne", "purgeOne"}
	// routeNames stand in URLs where an operation's name would.
	routeNames      = []string{"bulk", "restore", "purge"}
	operationEvents = []string{"", string(schema.RealtimeCreated), string(schema.RealtimeUpdated), string(schema.RealtimePatched), string(schema.RealtimeDeleted), string(schema.RealtimeRestored)}
)

// checkOperations refuses what is wrong with operations whatever the schema says.
func checkOperations(list []Operation) error {
	var errs []error
	seen := map[string]bool{}
	for _, o := range list {
		if err := o.check(); err != nil {
			errs = append(errs, fmt.Errorf("%v: %w", o, err))
		}
		key := o.Entity + "/" + strings.ToLower(o.Name)
		if seen[key] {
			errs = append(errs, fmt.Errorf("%v is given twice, upper and lower case being one here; remove or rename one", o))
		}
		seen[key] = true
	}
	return errors.Join(errs...)
}

func (o Operation) check() error {
	same := func(name string) bool { return strings.EqualFold(name, o.Name) }
	switch {
	case o.Handler == nil:
		return errors.New("it has no handler; give it one, or declare in the schema what it sets")
	case o.Entity == "":
		return errors.New("it names no entity; say whose operation it is")
	case !operationName(o.Name):
		return errors.New("its name stands in a URL; make it of letters, digits, _ and -, a letter first, at most 64")
	case slices.ContainsFunc(standardOperations, same):
		return errors.New("it has the name of a standard operation, upper and lower case being one here; rename it")
	case slices.ContainsFunc(routeNames, same):
		return errors.New("it has the name of a route; rename it")
	case !slices.Contains([]string{"", "write", "read"}, o.Kind):
		return fmt.Errorf("kind %q is neither write nor read", o.Kind)
	case !slices.Contains([]string{"", "one", "many"}, o.Cardinality):
		return fmt.Errorf("cardinality %q is neither one nor many", o.Cardinality)
	case !slices.Contains([]string{"", "create", "read", "update", "delete"}, o.Action):
		return fmt.Errorf("action %q is none of create, read, update, delete", o.Action)
	case o.Kind == "read" && o.Action == "create":
		return errors.New("one of kind read creates nothing; take another action, or kind write")
	case !slices.Contains(operationEvents, o.RealtimeEvent):
		return fmt.Errorf("realtimeevent %q is none of %s", o.RealtimeEvent, strings.Join(operationEvents[1:], ", "))
	case o.RealtimeEvent != "" && (o.Kind == "read" || o.Cardinality == "many"):
		return errors.New("realtimeevent describes one row that was written, so only one of kind write and cardinality one has it; remove it")
	}
	return nil
}

func operationName(name string) bool {
	for i, r := range []byte(name) {
		letter := r|0x20 >= 'a' && r|0x20 <= 'z'
		if !letter && (i == 0 || r != '_' && r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// handles reports whether one of the operations is that of a schema.
func (c Config) handles(entity, operation string) bool {
	return slices.ContainsFunc(c.Operations, func(o Operation) bool { return o.Entity == entity && o.Name == operation })
}

// knownOperations refuses operations that no tenant's schema has an entity for,
// and those that disagree with a schema.
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
			if err := o.agrees(e); err != nil {
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

// agrees holds the operation to what the schema says of one of that name.
func (o Operation) agrees(e *schema.Entity) error {
	for i := range e.Operations {
		declared := &e.Operations[i]
		if !strings.EqualFold(declared.Name, o.Name) {
			continue
		}
		differs := func(said, there string) bool { return said != "" && said != there }
		switch {
		case declared.Name != o.Name:
			return fmt.Errorf("the schema declares %q at %s, upper and lower case being one here; rename one", declared.Name, declared.Pos)
		case declared.Set != nil:
			return fmt.Errorf("the schema says at %s what it sets; remove set there, or the handler here", declared.Pos)
		case differs(o.Kind, declared.Kind), differs(o.Cardinality, declared.Cardinality),
			differs(o.Action, declared.Action), differs(o.RealtimeEvent, string(declared.Event)):
			return fmt.Errorf("the schema says otherwise at %s; leave kind, cardinality, action and realtimeevent out here", declared.Pos)
		}
	}
	return nil
}

// handlers are the operations of a datastore's entities, for its engine.
func (c Config) handlers(m *schema.Model, datastore string) (all []engine.Handler) {
	for _, o := range c.Operations {
		e, ok := m.Entity(o.Entity)
		if !ok || e.Datastore != datastore {
			continue
		}
		op, declared := e.Operation(o.Name)
		if !declared {
			op = o.described()
		}
		all = append(all, engine.Handler{Entity: e.Name, Operation: op, Do: o.do})
	}
	return all
}

// described is the operation as a schema would declare it.
func (o Operation) described() *schema.Operation {
	or := func(said, otherwise string) string {
		if said == "" {
			return otherwise
		}
		return said
	}
	action := "update"
	if o.Kind == "read" {
		action = "read"
	}
	return &schema.Operation{
		Name: o.Name, Kind: or(o.Kind, "write"), Cardinality: or(o.Cardinality, "one"),
		Action: or(o.Action, action), Event: schema.RealtimeEvent(o.RealtimeEvent),
	}
}

func (o Operation) do(ctx context.Context, t *engine.Tx) error { return o.Handler(ctx, &Call{tx: t}) }
