package store

import "context"

// Glancer is a Store whose rows and log can be read without one snapshot around
// all reads, for less than a View costs.
type Glancer interface {
	// Glance is View, but each read of fn sees what is committed when it begins:
	// a row that is read after the log is as young as the log, or younger.
	Glance(ctx context.Context, fn func(Reader) error) error
}

// Glance runs fn in a Glance where the store has one, else in a View.
func Glance(ctx context.Context, s Store, fn func(Reader) error) error {
	if g, ok := s.(Glancer); ok {
		return g.Glance(ctx, fn)
	}
	return s.View(ctx, fn)
}
