package admin

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowcast/rowcast/internal/store"
)

// Store returns s with its writes and reads timed. Label handles are
// resolved here, once.
func (m *Metrics) Store(s store.Store, tenant, datastore string) store.Store {
	return &timedStore{
		Store: s,
		write: m.store.WithLabelValues(tenant, datastore, "write"),
		view:  m.store.WithLabelValues(tenant, datastore, "view"),
	}
}

type timedStore struct {
	store.Store
	write, view prometheus.Observer
}

// Write implements store.Store.
func (t *timedStore) Write(ctx context.Context, work store.Work) error {
	began := time.Now()
	defer func() { t.write.Observe(time.Since(began).Seconds()) }()
	return t.Store.Write(ctx, work)
}

// View implements store.Store.
func (t *timedStore) View(ctx context.Context, fn func(store.Reader) error) error {
	began := time.Now()
	defer func() { t.view.Observe(time.Since(began).Seconds()) }()
	return t.Store.View(ctx, fn)
}

// Glance implements store.Glancer; to whoever looks at the times it is a view.
func (t *timedStore) Glance(ctx context.Context, fn func(store.Reader) error) error {
	began := time.Now()
	defer func() { t.view.Observe(time.Since(began).Seconds()) }()
	return store.Glance(ctx, t.Store, fn)
}
