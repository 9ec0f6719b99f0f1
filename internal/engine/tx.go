package engine

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/schema"
)

// errOver is what a handler gets that goes on after its transaction has ended.
var errOver = errors.New("the operation's transaction is over; a handler must not use it after it returned, or past its time")

// Tx is the transaction a handler works in: the operation's own row, and the
// other rows of the datastore.
//
// Whoever embeds rowcast is trusted like the schema. So Tx reads every row and
// field as it is and writes what it likes, as far as the schema's own promises
// go: types, validations, unique, final, events. What it writes bears the
// caller's name. The operation's own row alone is held to the caller's rules as
// written; its faults are told as far as the caller may read.
//
// Its methods may be called by one goroutine or several. All fail once the
// transaction is over, and all but Row once a write has failed: what a statement
// left undone cannot be gone on from.
type Tx struct {
	use    *use
	reader store.Reader
	w      *writing // nil: it only reads

	mu     sync.Mutex
	over   error // why nothing is possible any more
	own    store.Row
	row    store.Row // own, as the handler leaves it
	sent   []string
	gone   *Outcome // of own, where the handler deleted it
	made   *Outcome // the row of an operation that makes one
	writes int
	reply  []byte
	told   map[*fault.Fault]*entity // the faults it gave out, and of what
}

func newTx(u *use, r store.Reader, own store.Row) *Tx {
	return &Tx{use: u, reader: r, own: own, row: slices.Clone(own), told: map[*fault.Fault]*entity{}}
}

// Principal is who asked for the operation.
func (t *Tx) Principal() *access.Principal { return t.use.grant.Principal }

// Entity is the operation's own.
func (t *Tx) Entity() *schema.Entity { return t.use.ent.Entity }

// Input is the body of the request, one JSON object; nil where it had none.
func (t *Tx) Input() []byte { return t.use.Input }

// Now is the time that the write bears, UTC, in microseconds.
func (t *Tx) Now() time.Time {
	if t.w != nil {
		return t.w.now
	}
	return t.use.engine.now()
}

// Row returns the operation's own row, with what Set has changed so far; nil
// where the operation is on none.
func (t *Tx) Row() *Held {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held(t.use.ent, slices.Clone(t.row))
}

// Set changes fields of the operation's own row, which is written when the
// handler returns, once. Fault invalid.
func (t *Tx) Set(b Body) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.may(true); err != nil {
		return err
	}
	ent := t.use.ent
	if t.own == nil {
		return fmt.Errorf("operation %q is on no row; create one", t.use.op.Name)
	}
	if t.gone != nil {
		return fmt.Errorf("the row of operation %q is deleted; set its fields before, or create a row", t.use.op.Name)
	}
	in := ent.read(b)
	if err := in.invalid(ent.frozen(t.whole(ent), t.own, in)...); err != nil {
		return t.tell(ent, err)
	}
	for _, c := range in.cells {
		t.row[c.field] = c.value
	}
	for _, name := range in.sent {
		if !slices.Contains(t.sent, name) {
			t.sent = append(t.sent, name)
		}
	}
	return nil
}

// Get returns a live row of any entity of the datastore. Fault not_found.
func (t *Tx) Get(entity, id string) (*Held, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ent, err := t.entity(entity, false)
	if err != nil {
		return nil, err
	}
	row, err := t.find(ent, id)
	return t.held(ent, row), err
}

// Find returns the live rows that a query selects: filter, sort, limit and
// offset, as a list of REST takes them, whoever may read the fields. Without a
// limit, more rows than one request may write are too_many_rows.
func (t *Tx) Find(entity, rawQuery string) ([]*Held, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ent, err := t.entity(entity, false)
	if err != nil {
		return nil, err
	}
	q, err := t.query(ent, rawQuery)
	if err != nil {
		return nil, err
	}
	limit := t.use.engine.config.MaxRows
	rows, err := t.reader.Select(ent.Entity, q)
	if err == nil && len(rows) > limit {
		return nil, tooMany("the query matches more rows", limit)
	}
	held := make([]*Held, len(rows))
	for i, row := range rows {
		held[i] = t.held(ent, row)
	}
	return held, err
}

// Create inserts a row and returns it. The first one of its own entity that an
// operation makes whose action is create is the operation's own row. Faults:
// invalid, conflict, row_refused, event_condition_failed, too_many_rows.
func (t *Tx) Create(entity string, b Body) (*Held, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ent, err := t.entity(entity, true)
	if err != nil {
		return nil, err
	}
	whole := t.whole(ent)
	draft, in := t.use.engine.draft(ent, whole, b)
	if err := in.invalid(); err != nil {
		return nil, t.tell(ent, err)
	}
	c, g := created(in), whole
	mine := t.own == nil && t.made == nil && ent == t.use.ent && t.use.op.action == access.Create && t.use.op.Cardinality == "one"
	if mine {
		c.fine, c.custom, g = string(t.use.op.Event), t.use.op.Operation, t.use.grant
	}
	t.writes++
	out, err := t.w.create(ent, g, draft, c)
	if err != nil {
		return nil, t.broken(ent, err)
	}
	if mine {
		t.made = out
	}
	return t.held(ent, c.after), nil
}

// Update merges fields into a live row, as PATCH does, and returns the row.
// Faults: not_found, invalid, conflict, event_condition_failed, too_many_rows.
func (t *Tx) Update(entity, id string, b Body) (*Held, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ent, err := t.entity(entity, true)
	if err != nil {
		return nil, err
	}
	old, err := t.find(ent, id)
	if err != nil {
		return nil, err
	}
	if t.isOwn(ent, old) {
		return nil, fmt.Errorf("row %q is the operation's own, which is written once, when the handler returns: set its fields", id)
	}
	in, whole := ent.read(b), t.whole(ent)
	if err := in.invalid(ent.frozen(whole, old, in)...); err != nil {
		return nil, t.tell(ent, err)
	}
	t.writes++
	out, err := t.w.update(ent, whole, old, in, "patched")
	if err != nil {
		return nil, t.broken(ent, err)
	}
	return t.held(ent, out.Row), nil
}

// Delete removes a live row, or marks it where the entity inherits softdelete.
// It may be the operation's own. Faults: not_found, event_condition_failed.
func (t *Tx) Delete(entity, id string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	ent, err := t.entity(entity, true)
	if err != nil {
		return err
	}
	old, err := t.find(ent, id)
	if err != nil {
		return err
	}
	t.writes++
	if t.isOwn(ent, old) {
		t.gone, err = t.use.remove(t.w, old)
	} else {
		_, err = t.w.remove(ent, t.whole(ent), old, access.Delete)
	}
	if err != nil {
		return t.broken(ent, err)
	}
	return nil
}

// Reply sets what an operation that reads answers with, as JSON.
func (t *Tx) Reply(json []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over != nil:
		return t.over
	case t.w != nil:
		return fmt.Errorf("operation %q writes, and answers with its row; only one of kind read replies", t.use.op.Name)
	}
	t.reply = json
	return nil
}

// may reports why nothing, or nothing that writes, is possible.
func (t *Tx) may(write bool) error {
	switch {
	case t.over != nil:
		return t.over
	case write && t.w == nil:
		return fmt.Errorf("operation %q is of kind read and writes nothing", t.use.op.Name)
	}
	return nil
}

func (t *Tx) unknown(entity string) error {
	return fmt.Errorf("there is no entity %q in the datastore of %q", entity, t.use.ent.Name)
}

// entity finds an entity for a read, or for a write where one more may be.
func (t *Tx) entity(name string, write bool) (*entity, error) {
	if err := t.may(write); err != nil {
		return nil, err
	}
	ent, ok := t.use.engine.byName[name]
	if !ok {
		return nil, t.unknown(name)
	}
	if !write {
		return ent, nil
	}
	if t.writes >= t.use.engine.config.MaxRows {
		return nil, tooMany("the operation writes more rows", t.use.engine.config.MaxRows)
	}
	return ent, nil
}

func (t *Tx) held(ent *entity, row store.Row) *Held {
	if row == nil {
		return nil
	}
	return &Held{tx: t, ent: ent, row: row}
}

func (t *Tx) whole(ent *entity) *access.Grant { return ent.policy.Whole(t.use.grant.Principal) }

func (t *Tx) find(ent *entity, id string) (store.Row, error) {
	key, err := ent.id(id)
	if err != nil {
		return nil, err
	}
	row, err := t.reader.Get(ent.Entity, key)
	if errors.Is(err, store.ErrNotFound) || (err == nil && ent.deleted(row)) {
		return nil, ent.notFound()
	}
	return row, err
}

func (t *Tx) isOwn(ent *entity, row store.Row) bool {
	return t.own != nil && t.gone == nil && ent == t.use.ent && row[ent.ID] == t.own[ent.ID]
}

func (t *Tx) query(ent *entity, rawQuery string) (store.Query, error) {
	most := t.use.engine.config.MaxRows
	given, err := parameters(rawQuery, "sort", "limit", "offset")
	if err != nil {
		return store.Query{}, err
	}
	q := &query{limit: most + 1}
	if text, ok := given["limit"]; ok {
		if q.limit, err = number("limit", text, 1, most); err != nil {
			return store.Query{}, err
		}
	}
	if text, ok := given["offset"]; ok {
		if q.offset, err = number("offset", text, 0, 1<<31-1); err != nil {
			return store.Query{}, err
		}
	}
	if text, ok := given["sort"]; ok {
		if faults := ent.sort(t.whole(ent), q, text); len(faults) > 0 {
			return store.Query{}, unanswerable(faults)
		}
	}
	return t.where(ent, q, rawQuery)
}

func (t *Tx) where(ent *entity, q *query, rawQuery string) (store.Query, error) {
	out := store.Query{Sort: q.sort, Limit: q.limit, Offset: q.offset}
	filter, err := ent.filterBy(rawQuery, func(int) bool { return true })
	if err == nil && filter != nil {
		out.Where = append(out.Where, filter)
	}
	return out, err
}

// tell notes of what entity a fault speaks that the handler is given.
func (t *Tx) tell(ent *entity, err error) error {
	if f, ok := fault.Of(err); ok {
		t.told[f] = ent
	}
	return err
}

// broken ends the transaction with a write that failed half-way.
func (t *Tx) broken(ent *entity, err error) error {
	t.over = t.tell(ent, err)
	return err
}
