package engine

import (
	"encoding/json"
	"errors"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
)

// maxKey is how long an Idempotency-Key may be, in bytes.
const maxKey = 255

// key is the Idempotency-Key of one request. A nil key is none.
type key struct {
	principal, text, request string
}

// told is what is kept of a request under its key: ids, never values, since
// whoever asks again is answered as they may read the rows then.
type told struct {
	IDs     []string `json:"ids"`
	Changed int      `json:"changed,omitempty"` // rows written, of an operation on many
}

// newKey reads the key of a request. Anonymous callers share one identity, so
// that one could fetch another's answer, or block it, by guessing a key.
func newKey(pr *access.Principal, o Options) (*key, error) {
	switch {
	case o.Key == "":
		return nil, nil
	case pr.Anonymous:
		return nil, fault.New(fault.BadParameter, "Idempotency-Key needs a caller with a credential: anonymous callers would share their keys")
	case len(o.Key) > maxKey || !visible(o.Key):
		return nil, fault.New(fault.BadParameter, "Idempotency-Key must be 1 to %d visible ASCII characters", maxKey)
	}
	return &key{principal: pr.ID, text: o.Key, request: o.Request}, nil
}

func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// told returns what is kept under the key, nil where this is the first time.
func (w *writing) told(k *key) (*told, error) {
	if k == nil {
		return nil, nil
	}
	record, err := w.tx.Recall(k.principal, k.text)
	if err != nil || record == nil {
		return nil, err
	}
	if record.Request != k.request {
		return nil, fault.New(fault.IdempotencyMismatch, "this Idempotency-Key was used for another request within the last 24 hours; take a new key")
	}
	out := &told{}
	return out, json.Unmarshal(record.Result, out)
}

// recall answers a request that was answered before, row by row under the
// grants of now; nil where it was not.
func (w *writing) recall(k *key, grants ...*access.Grant) ([]*Outcome, error) {
	before, err := w.told(k)
	if err != nil || before == nil {
		return nil, err
	}
	if len(before.IDs) != len(grants) {
		return nil, errors.New("idempotency record does not fit its request")
	}
	outs := make([]*Outcome, len(grants))
	for i, g := range grants {
		if outs[i], err = w.reread(g, before.IDs[i]); err != nil {
			return nil, err
		}
	}
	return outs, nil
}

func (w *writing) reread(g *access.Grant, text string) (*Outcome, error) {
	ent := w.engine.byName[g.Policy.Entity.Name]
	id, err := ent.ParseID(text)
	if err != nil {
		return nil, err
	}
	row, err := w.tx.Get(ent.Entity, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	return &Outcome{Grant: g, ID: id, Row: ent.shown(g, row), Again: true}, nil
}

// remember keeps the outcomes under the key, in the write's own transaction:
// a write that is undone is not remembered.
func (w *writing) remember(k *key, outs ...*Outcome) error {
	kept := told{IDs: make([]string, len(outs))}
	for i, out := range outs {
		kept.IDs[i] = w.engine.byName[out.Grant.Policy.Entity.Name].idText(out.ID)
	}
	return w.keep(k, kept)
}

// keep keeps what a request is to be told under its key, if it has one.
func (w *writing) keep(k *key, kept told) error {
	if k == nil {
		return nil
	}
	result, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	err = w.tx.Remember(&store.Record{Principal: k.principal, Key: k.text, Request: k.request, Result: result, Created: w.now})
	var taken *store.ConflictError
	if errors.As(err, &taken) {
		return fault.New(fault.Conflict, "a request with this Idempotency-Key is being answered; send it again").Because(err)
	}
	return err
}

func first(outs []*Outcome) *Outcome {
	if len(outs) == 0 {
		return nil
	}
	return outs[0]
}
