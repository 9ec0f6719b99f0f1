package storetest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowcast/rowcast/internal/store"
)

var keptPromises = []promise{
	{"a secret is 32 bytes, its own per name, and survives reopening", secretsAreStable},
	{"two who ask for a secret at once get the same", secretsAgree},
	{"an idempotency record is recalled for 24 hours", recordsAreRecalled},
	{"a record that is there is a conflict, an old one is replaced", recordsConflict},
	{"Prune removes old records", recordsArePruned},
	{"a view whose caller leaves ends with the caller's error", viewIsCancelled},
	{"Ping answers on an open store", pingAnswers},
}

func secretsAreStable(b *bench) {
	s := b.open(Options{})
	first, err := s.Secret(b.Context(), "cursors")
	b.must(err)
	other, err := s.Secret(b.Context(), "bookmarks")
	b.must(err)
	if len(first) != 32 || bytes.Equal(first, other) {
		b.Errorf("%d bytes, same as another's: %v", len(first), bytes.Equal(first, other))
	}
	s = b.reopen(Options{})
	again, err := s.Secret(b.Context(), "cursors")
	b.must(err)
	if !bytes.Equal(first, again) {
		b.Error("the secret changed")
	}
}

func secretsAgree(b *bench) {
	s := b.open(Options{})
	var wg sync.WaitGroup
	secrets := make([][]byte, 8)
	for i := range secrets {
		wg.Go(func() {
			secret, err := s.Secret(b.Context(), "shared")
			b.check(err)
			secrets[i] = secret
		})
	}
	wg.Wait()
	for _, secret := range secrets[1:] {
		if !bytes.Equal(secret, secrets[0]) {
			b.Fatal("two secrets of one name")
		}
	}
}

// clock is a time that a case sets.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

func remember(b *bench, r store.Record) error {
	return b.write(func(tx store.Tx) error { return tx.Remember(&r) })
}

func recall(b *bench, principal, key string) (r *store.Record) {
	b.Helper()
	b.must(b.write(func(tx store.Tx) (err error) {
		r, err = tx.Recall(principal, key)
		return err
	}))
	return r
}

func recordsAreRecalled(b *bench) {
	c := &clock{epoch}
	b.open(Options{Now: c.read})
	want := store.Record{Principal: "ann", Key: "k", Request: "hash", Result: []byte(`{"id":"a"}`), Created: epoch}
	b.must(remember(b, want))
	c.now = epoch.Add(24 * time.Hour)
	b.reopen(Options{Now: c.read})
	if diff := cmp.Diff(&want, recall(b, "ann", "k")); diff != "" {
		b.Errorf("record (-want +got):\n%s", diff)
	}
	if r := recall(b, "bob", "k"); r != nil {
		b.Error("another principal's record was recalled")
	}
	c.now = c.now.Add(time.Second)
	if r := recall(b, "ann", "k"); r != nil {
		b.Error("a record was recalled after 24 hours")
	}
}

func recordsConflict(b *bench) {
	c := &clock{epoch}
	b.open(Options{Now: c.read})
	b.must(remember(b, store.Record{Principal: "ann", Key: "k", Request: "1", Created: epoch}))
	err := remember(b, store.Record{Principal: "ann", Key: "k", Request: "2", Created: epoch})
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || conflict.Error() == "" {
		b.Errorf("error = %v, want a conflict", err)
	}
	c.now = epoch.Add(25 * time.Hour)
	b.must(remember(b, store.Record{Principal: "ann", Key: "k", Request: "3", Created: c.now}))
	if got := recall(b, "ann", "k"); got == nil || got.Request != "3" {
		b.Errorf("recalled %+v, want the new record", got)
	}
}

func recordsArePruned(b *bench) {
	c := &clock{epoch}
	b.open(Options{Now: c.read})
	for _, key := range []string{"1", "2", "3"} {
		b.must(remember(b, store.Record{Principal: "ann", Key: key, Created: epoch}))
	}
	c.now = epoch.Add(25 * time.Hour)
	b.must(remember(b, store.Record{Principal: "ann", Key: "4", Created: c.now}))
	for i, want := range []bool{true, false} {
		more, err := b.store.Prune(b.Context(), epoch, 2)
		if err != nil || more != want {
			b.Errorf("step %d: more = %v, %v, want %v", i, more, err, want)
		}
	}
	c.now = epoch // the old ones would be recalled again were they there
	for key, there := range map[string]bool{"1": false, "2": false, "3": false, "4": true} {
		if got := recall(b, "ann", key) != nil; got != there {
			b.Errorf("record %s there: %v, want %v", key, got, there)
		}
	}
}

func viewIsCancelled(b *bench) {
	s := b.open(Options{})
	ctx, cancel := context.WithCancel(b.Context())
	err := s.View(ctx, func(r store.Reader) error {
		cancel()
		_, err := r.Count(orders, store.Query{})
		return err
	})
	if !errors.Is(err, context.Canceled) {
		b.Errorf("error = %v, want context.Canceled", err)
	}
	b.view(func(r store.Reader) error { // the connection is fit for the next
		_, err := r.Count(orders, store.Query{})
		return err
	})
}

func pingAnswers(b *bench) {
	s := b.open(Options{})
	b.must(s.Ping(b.Context()))
}
