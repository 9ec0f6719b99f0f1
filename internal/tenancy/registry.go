package tenancy

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/stream"
)

// Registry holds all units of a server. It is immutable once every unit is
// added, and then safe for concurrent use.
type Registry struct {
	units    []*Unit
	byEntity map[string]map[string]*Unit // tenant, entity
}

// Add takes a unit in.
func (r *Registry) Add(u *Unit) {
	if r.byEntity == nil {
		r.byEntity = map[string]map[string]*Unit{}
	}
	tenant := u.config.Tenant
	if r.byEntity[tenant] == nil {
		r.byEntity[tenant] = map[string]*Unit{}
	}
	r.units = append(r.units, u)
	for _, e := range u.config.entities() {
		r.byEntity[tenant][e.Name] = u
	}
}

// Units returns all of them.
func (r *Registry) Units() []*Unit { return r.units }

// Unit returns the engine that serves an entity of a tenant.
func (r *Registry) Unit(tenant, entity string) (*engine.Engine, bool) {
	u, ok := r.byEntity[tenant][entity]
	if !ok {
		return nil, false
	}
	return u.Engine, true
}

// Streams returns the streams of the unit that serves an entity of a tenant.
func (r *Registry) Streams(tenant, entity string) (*stream.Server, bool) {
	u, ok := r.byEntity[tenant][entity]
	if !ok {
		return nil, false
	}
	return u.Streams, true
}

// Run runs every unit until ctx is done and all are closed.
func (r *Registry) Run(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	for _, u := range r.units {
		group.Go(func() error { return u.Run(running) })
	}
	return group.Wait()
}

// Ready waits until every unit's log is open.
func (r *Registry) Ready(ctx context.Context) error {
	for _, u := range r.units {
		select {
		case <-u.Tail.Ready():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// CloseStreams asks every stream to end and refuses new ones.
func (r *Registry) CloseStreams() {
	for _, u := range r.units {
		u.Hub.Close()
	}
}

// Discard closes the datastores of units that were never run.
func (r *Registry) Discard() error {
	var errs []error
	for _, u := range r.units {
		errs = append(errs, u.store.Close())
	}
	return errors.Join(errs...)
}
