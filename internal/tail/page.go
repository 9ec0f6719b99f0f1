package tail

import (
	"context"

	"github.com/rowcast/rowcast/internal/store"
)

// Page is a stretch of the log.
type Page struct {
	Entries []*Entry
	Upto    store.Position // everything up to here has been looked at
}

// Page returns the entries above a number, and never past what was delivered.
// With recent, for a stream that fell behind by moments, they come from memory
// where they are there, with the rows as they were handed on; else from the
// log, with the rows as they are now: who comes back must not be shown what it
// may no longer read. ErrExpired where retention has removed some of them.
// Callers that ask for the same page at once share one read, which begins after
// they asked.
func (t *Tail) Page(ctx context.Context, after int64, recent bool) (Page, error) {
	delivered := t.Delivered()
	if after >= delivered.Seq {
		return Page{Upto: delivered}, nil
	}
	if recent {
		if found, covered := t.window.after(after, pageRows); covered {
			return found.cut(delivered), nil
		}
	}
	found, err := t.logged(ctx, after)
	if err != nil {
		return Page{}, err
	}
	return found.cut(delivered), nil
}

// stretch is consecutive entries of the log.
type stretch struct {
	entries []*Entry
	more    bool // it was ended by a bound: there may be more
}

// cut makes a page that ends at the delivered position, which must not be
// younger than what the stretch was read from.
func (s stretch) cut(delivered store.Position) Page {
	n := len(s.entries)
	for n > 0 && s.entries[n-1].Log.Seq > delivered.Seq {
		n--
	}
	upto := delivered
	if s.more && n == len(s.entries) {
		upto = store.Position{Seq: s.entries[n-1].Log.Seq, EventID: s.entries[n-1].Log.EventID}
	}
	return Page{Entries: s.entries[:n], Upto: upto}
}

func (t *Tail) logged(ctx context.Context, after int64) (stretch, error) {
	return t.share.do(ctx, after, func() (found stretch, err error) {
		// One reader's hang-up must not fail the others that share the page;
		// the store bounds the read's time itself.
		err = t.store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
			floor, err := r.Floor()
			if err != nil {
				return err
			}
			if after < floor.Seq {
				return ErrExpired
			}
			found, err = load(r, t.config.Entities, after)
			return err
		})
		return found, err
	})
}
