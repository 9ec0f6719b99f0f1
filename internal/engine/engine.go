// Package engine is the only door to rows: it authorises, validates, writes,
// logs and commits, and it is the only place that calls the store for rows.
//
// It guarantees that no row and no part of one leaves without a Grant, that no
// write leaves a row which the writer's own rules refuse, and that a change and
// its log rows and deliveries are one transaction: all are there or none is. Filters,
// order, conflicts and preconditions tell a caller nothing that a read would not.
//
// An Engine and everything it hands out are safe for concurrent use; it needs no
// closing, and starts a goroutine for a handler of the embedder's alone, whose
// time it bounds. It stands on value, document, schema,
// fault, predicate, script, access, render and store. DESIGN.md beside this file
// says in which order a write is judged, and why.
package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Config is what an Engine stands on.
type Config struct {
	Tenant   string
	Origin   string // this instance
	Model    *schema.Model
	Policies map[string]*access.Policy // by entity; only entities of this datastore
	Realtime *schema.Realtime          // the boot document's defaults for channels; nil: none
	Handlers []Handler                 // operations in Go; only of entities of this datastore
	Targets  []Target                  // where events are delivered
	Outbox   Outbox                    // sends them; nil where there are no targets
	Store    store.Store
	Now      func() time.Time // defaults to time.Now
	NewID    func() string    // event and row ULIDs; strictly increasing in a process
	Secret   []byte           // seals cursors
	MaxRows  int              // defaults to 10000
	MaxQuery time.Duration    // of a read; defaults to 5 s
	MaxWork  time.Duration    // of a bulk, a transaction, a handler; defaults to 5 s
	Logger   *slog.Logger     // defaults to slog.Default()
}

// Engine serves the entities of one unit. Safe for concurrent use.
type Engine struct {
	config   Config
	entities []*schema.Entity
	byName   map[string]*entity
	sealer   *sealer
}

// New compiles conditions and prepares an Engine. What the schema gets wrong is
// a document.Refusals; any other error is a Config that lacks something.
func New(c Config) (*Engine, error) {
	if c.NewID == nil || c.Store == nil || c.Model == nil {
		return nil, errors.New("engine: Config needs Model, Store and NewID")
	}
	if len(c.Targets) > 0 && c.Outbox == nil {
		return nil, errors.New("engine: Config with Targets needs an Outbox")
	}
	sealer, err := newSealer(c.Secret)
	if err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.MaxRows = cmp.Or(c.MaxRows, 10_000)
	c.MaxQuery = cmp.Or(c.MaxQuery, 5*time.Second)
	c.MaxWork = cmp.Or(c.MaxWork, 5*time.Second)
	e := &Engine{config: c, byName: map[string]*entity{}, sealer: sealer}
	return e, e.compile()
}

func (e *Engine) compile() error {
	var refusals document.Refusals
	for _, s := range e.config.Model.Entities {
		policy, served := e.config.Policies[s.Name]
		if !served {
			continue
		}
		ent, refused := compileEntity(e.config.Model, policy, e.config.Realtime)
		refusals = append(refusals, refused...)
		e.entities = append(e.entities, s)
		e.byName[s.Name] = ent
		for i := range ent.publishers {
			e.addRoutes(ent, &ent.publishers[i])
		}
	}
	refusals.Sort()
	if err := refusals.Err(); err != nil {
		return err
	}
	return e.handlers()
}

// Policy returns the compiled access of an entity that this engine serves.
func (e *Engine) Policy(name string) (*access.Policy, bool) {
	ent, ok := e.byName[name]
	if !ok {
		return nil, false
	}
	return ent.policy, true
}

// Entities returns the entities this engine serves, in declared order. The
// slice is the engine's own: read it only.
func (e *Engine) Entities() []*schema.Entity { return e.entities }

// Store returns the datastore beneath. Whoever reads rows from it judges them
// with a Grant before a caller sees anything of them.
func (e *Engine) Store() store.Store { return e.config.Store }

// Grant judges whether the principal may take the action on the entity at all:
// fault entity_not_found, forbidden.
func (e *Engine) Grant(pr *access.Principal, name string, a access.Action) (*access.Grant, error) {
	ent, ok := e.byName[name]
	if !ok {
		return nil, fault.New(fault.EntityNotFound, "there is no entity %q here", name)
	}
	g := e.grant(ent, pr)
	if err := permit(ent, g, a); err != nil {
		return nil, err
	}
	return g, nil
}

func (e *Engine) grant(ent *entity, pr *access.Principal) *access.Grant {
	g, err := ent.policy.Grant(pr)
	if err != nil {
		// The grant stands all the same: a rule that fails denies what it governs.
		e.config.Logger.Warn("an access rule failed and denies", "entity", ent.Name, "error", err)
	}
	return g
}

// entity returns the engine's own knowledge of the grant's entity, once more
// holding the grant to the action: a grant taken for a read opens no write.
func (e *Engine) entity(g *access.Grant, a access.Action) (*entity, error) {
	ent, ok := e.byName[g.Policy.Entity.Name]
	if !ok {
		return nil, fault.New(fault.EntityNotFound, "there is no entity %q here", g.Policy.Entity.Name)
	}
	return ent, permit(ent, g, a)
}

func permit(ent *entity, g *access.Grant, a access.Action) error {
	if g.Can(a) {
		return nil
	}
	return fault.New(fault.Forbidden, "you may not %s rows of %s", a, ent.Name)
}

// now is the present in the form the log keeps.
func (e *Engine) now() time.Time { return e.config.Now().UTC().Truncate(time.Microsecond) }

// Options go with one write.
type Options struct {
	IfMatch     string // header as sent; "" none
	IfNoneMatch string
	Key         string // Idempotency-Key; "" none (POST only)
	Request     string // hash of route and body that Key stands for
}

// Outcome is one written row. Row is nil where nothing is left to show (delete)
// or where the grant cannot read what was written.
type Outcome struct {
	Grant *access.Grant
	ID    value.Value
	Row   store.Row
	Again bool // an Idempotency-Key answered it; nothing was written
}

// asFault turns what came out of the store into a fault. What is no fault
// already says nothing of its cause to the caller; the cause stays for the log.
func asFault(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := fault.Of(err); ok {
		return err
	}
	switch {
	case errors.Is(err, store.ErrUnknown):
		return fault.New(fault.Unavailable, "the connection to the datastore broke while the write was being committed: it may stand or not; read the row, or send the request again with the same Idempotency-Key").Because(err)
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrClosed):
		return fault.New(fault.Unavailable, "the datastore cannot be reached; try again shortly").Because(err)
	case errors.Is(err, store.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Timeout, "the request took too long; narrow its filter or send fewer rows").Because(err)
	case errors.Is(err, context.Canceled):
		return fault.New(fault.Timeout, "the request was cancelled before its turn came; nothing was written").Because(err)
	default:
		return fault.New(fault.Internal, "something went wrong here; the log has the cause").Because(err)
	}
}
