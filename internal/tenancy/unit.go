// Package tenancy holds the units: one tenant in one datastore, with its
// engine, tail, hub, streams and relay of deliveries, and all their goroutines.
//
// Open prepares a unit, Run is its life, and when Run has returned nothing of
// it is left: no goroutine, no connection, no file. A write of one unit cannot
// reach a stream of another (contract: Scope of the fan-out). A Unit is safe for
// concurrent use. It may import whatever stands above it.
package tenancy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/hub"
	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/stream"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/internal/transport"
	"github.com/rowcast/rowcast/schema"
)

// Config is what a Unit stands on.
type Config struct {
	Tenant    string
	Datastore string
	Origin    string // this instance
	Model     *schema.Model
	Policies  map[string]*access.Policy // of the model's entities, by name
	Realtime  *schema.Realtime          // the boot document's defaults for channels; nil: none
	Handlers  []engine.Handler          // operations in Go, of entities of this datastore
	// Transports are told of what channels are told; OnPublishError of what one did
	// not take.
	Transports     []transport.Transport
	OnPublishError func(transport string, e event.ChannelEvent, err error)
	// Targets are where events are delivered, in declared order; none: nothing is
	// queued and no relay runs.
	Targets []Target
	Every   time.Duration // the slot of the delivery queue; defaults to 10 s
	// Driver opens the datastore and ties it to the tail: commits are offered to
	// it in order (Tail.Offer), or it is told what to expect and when to look
	// (Tail.Expect, Tail.Look).
	Driver    func(ctx context.Context, t *tail.Tail) (store.Store, error)
	IDs       *event.Source
	Retention time.Duration // of the log; defaults to 24 h
	MaxRows   int
	MaxQuery  time.Duration
	Limit     *stream.Limit
	Logger    *slog.Logger
	Now       func() time.Time // defaults to time.Now
}

// Unit is one tenant in one datastore.
type Unit struct {
	config  Config
	store   store.Store
	Engine  *engine.Engine
	Tail    *tail.Tail
	Hub     *hub.Hub
	Streams *stream.Server
	Outlet  *transport.Outlet
	Outbox  *outbox.Relay // nil where no target is declared
	health  health
}

// Open opens the datastore, creates what the model needs in it, and prepares
// the unit. The error may be document.Refusals. A failed Open leaves nothing open.
func Open(ctx context.Context, c Config) (_ *Unit, err error) {
	c = withDefaults(c)
	u := &Unit{config: c, Hub: hub.New(c.Now)}
	entities := c.entities()
	u.Outlet = transport.New(transport.Config{
		Tenant: c.Tenant, Origin: c.Origin, Transports: c.Transports, Policies: c.policies(entities),
		OnError: c.OnPublishError, Logger: c.Logger,
	})
	// The tail exists before the store, and gets the store below: a commit
	// can only be handed over after Open, when both are there.
	u.Tail = tail.New(tail.Config{Entities: byName(entities), Sink: u.sink, Reset: u.Hub.Reset, Logger: c.Logger, Now: c.Now})
	u.store, err = c.Driver(ctx, u.Tail)
	if err != nil {
		return nil, fmt.Errorf("datastore %s of tenant %s: %w", c.Datastore, c.Tenant, err)
	}
	u.Tail.Follow(u.store)
	if err := u.prepare(ctx, entities); err != nil {
		return nil, errors.Join(err, u.store.Close())
	}
	return u, nil
}

func withDefaults(c Config) Config {
	if c.Retention == 0 {
		c.Retention = 24 * time.Hour
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Logger = c.Logger.With("tenant", c.Tenant, "datastore", c.Datastore)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// entities returns those that live in this datastore.
func (c Config) entities() []*schema.Entity {
	var own []*schema.Entity
	for _, e := range c.Model.Entities {
		if e.Datastore == c.Datastore {
			own = append(own, e)
		}
	}
	return own
}

func (c Config) policies(entities []*schema.Entity) map[string]*access.Policy {
	own := make(map[string]*access.Policy, len(entities))
	for _, e := range entities {
		own[e.Name] = c.Policies[e.Name]
	}
	return own
}

// sink takes what the tail hands on. Neither of the two waits for anybody.
func (u *Unit) sink(batch []*tail.Entry) {
	u.Outlet.Offer(batch)
	u.Hub.Publish(batch)
}

func byName(entities []*schema.Entity) map[string]*schema.Entity {
	m := make(map[string]*schema.Entity, len(entities))
	for _, e := range entities {
		m[e.Name] = e
	}
	return m
}

func (u *Unit) prepare(ctx context.Context, entities []*schema.Entity) error {
	if err := u.migrate(ctx, entities); err != nil {
		return err
	}
	cursors, err := u.store.Secret(ctx, "cursors")
	if err != nil {
		return err
	}
	bookmarks, err := u.store.Secret(ctx, "bookmarks")
	if err != nil {
		return err
	}
	u.openOutbox()
	u.Engine, err = engine.New(engine.Config{
		Tenant: u.config.Tenant, Origin: u.config.Origin, Model: u.config.Model, Policies: u.config.policies(entities), Realtime: u.config.Realtime, Handlers: u.config.Handlers, Store: u.store,
		Targets: u.config.wanted(), Outbox: u.outbox(), Now: u.config.Now, NewID: u.config.IDs.Next, Secret: cursors,
		MaxRows: u.config.MaxRows, MaxQuery: u.config.MaxQuery, Logger: u.config.Logger,
	})
	if err != nil {
		return err
	}
	u.Streams, err = stream.New(stream.Config{
		Tenant: u.config.Tenant, Model: u.config.Model, Entities: entities, Realtime: u.config.Realtime, Engine: u.Engine, Store: u.store,
		Tail: u.Tail, Hub: u.Hub, Secret: bookmarks, Limit: u.config.Limit, Now: u.config.Now, Logger: u.config.Logger,
	})
	return err
}

func (u *Unit) migrate(ctx context.Context, entities []*schema.Entity) error {
	plan := store.Plan{Entities: entities, Indexes: map[*schema.Entity][][]int{}}
	for _, e := range entities {
		for _, field := range u.config.Policies[e.Name].EqualityColumns() {
			plan.Indexes[e] = append(plan.Indexes[e], []int{field})
		}
	}
	report, err := u.store.Migrate(ctx, plan)
	if err != nil {
		return err
	}
	for _, made := range report.Created {
		u.config.Logger.Info("created in the datastore", "what", made)
	}
	for _, warning := range report.Warnings {
		u.config.Logger.Warn(warning)
	}
	return nil
}

// Run is the unit's life: it returns when ctx is done and everything is closed.
// Whoever ends ctx has let the streams end before (Unit.Hub.Close).
func (u *Unit) Run(ctx context.Context) error {
	u.health.answered.Store(u.config.Now().UnixNano()) // before the log is open, and it may count as ready
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return u.Tail.Run(running) })
	group.Go(func() error { return u.Hub.Run(running) })
	group.Go(func() error { return u.prune(running) })
	group.Go(func() error { return u.watch(running) })
	if u.Outbox != nil {
		group.Go(func() error { return u.Outbox.Run(running) })
	}
	// Transports go on until the tail has handed on its last.
	publishing, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	published := make(chan struct{})
	go func() {
		defer close(published)
		u.Outlet.Run(publishing)
	}()
	err := errors.Join(group.Wait(), u.store.Close())
	end()
	<-published
	return err
}

// Name returns tenant and datastore.
func (u *Unit) Name() (tenant, datastore string) { return u.config.Tenant, u.config.Datastore }
