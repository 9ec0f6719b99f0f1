package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/render"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqlite"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
	"github.com/rowcast/rowcast/schema/schematest"
)

// shop is the schema of these tests. An order is read by its owner, by
// everybody while it is open, and by staff; it is changed by its owner and by
// staff; nobody but staff may leave one that is another's.
const shop = `
enums:
  - name: order_status
    values: [{value: draft}, {value: open}, {value: paid}]
entities:
  - name: order
    table: orders
    inherits: [common, softdelete]
    fields:
      - {name: id, type: ulid}
      - {name: title, type: string, validations: [{type: required}, {type: minlength, value: 2}, {type: maxlength, value: 10, message: keep it short}]}
      - {name: status, type: order_status, defaultvalue: draft}
      - {name: owner_id, type: string, defaultvalue: user.id}
      - {name: total, type: int, validations: [{type: min, value: 0}, {type: max, value: 1000}]}
      - {name: code, type: string, validations: [{type: pattern, value: "^[a-z]+$"}, {type: unique, message: that code is taken}]}
      - {name: size, type: string, validations: [{type: oneof, value: [S, M, L]}]}
      - {name: born, type: string, validations: [{type: final}]}
      - {name: card, type: string, mask: {keeplast: 2}, validations: [{type: unique}]}
      - {name: pin, type: int, mask: {}}
      - {name: notes, type: string, validations: [{type: unique}]}
      - {name: stamp, type: string, validations: [{type: final}]}
      - {name: meta, type: object}
      - {name: paid_at, type: timestamp}
      - {name: seen_at, type: timestamp, defaultvalue: now()}
      - {name: ref, type: uuid, defaultvalue: uuid()}
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? ["create","read","update","delete","restore","purge","unmask"] : "writer" in user.roles ? ["create","update","delete"] : ["create","read","update","delete","restore"]'}
      read: {language: expr, expression: '"staff" in user.roles ? true : ["id","title","status","owner_id","total","code","size","born","card","pin","meta","paid_at","createdby","updatedby","deletedby","deletedon"]'}
    rowrules:
      - {name: own, actions: [read, update, delete, create], language: expr, expression: row.owner_id == user.id}
      - {name: open, actions: [read], language: expr, expression: row.status == "open"}
      - {name: staff, actions: [read, update, delete, create], language: expr, expression: '"staff" in user.roles'}
    events:
      - {name: changed, operations: [create, update, delete]}
      - {name: paid, topic: orders.paid, operations: [update], condition: {language: expr, expression: payload.status == "paid" and old.status != "paid"}}
      - {name: quiet, topic: orders.quiet, bulk: false}
    subscriptions:
      - {name: big, rls: true, filter: {language: expr, expression: payload.total > 100}}
  - name: note
    fields:
      - {name: id, type: bigint}
      - {name: text, type: string, validations: [{type: unique}]}
      - {name: rank, type: int}
    events:
      - {name: strict, condition: {language: expr, expression: 'payload.rank != 0 and len(payload.text) > 0'}}
  - name: plain
    fields: [{name: id, type: ulid}, {name: text, type: string}, {name: rank, type: int}]
  - name: loud
    fields: [{name: id, type: ulid}, {name: text, type: string}, {name: rank, type: int}]
    events: [{name: changed}]
  - name: parcel # changed by everybody, read by its owner
    fields: [{name: id, type: string}, {name: owner_id, type: string, defaultvalue: user.id}, {name: size, type: int}]
    rowrules:
      - {name: own, actions: [read, create], language: expr, expression: row.owner_id == user.id}
      - {name: any, actions: [update, delete], language: expr, expression: row.size >= 0}
  - name: tag
    fields:
      - {name: id, type: string}
      - {name: label, type: string}
  - name: token
    fields:
      - {name: id, type: uuid}
    access:
      actions: {language: expr, expression: '["create","read","delete"]'}
  - name: counter
    fields:
      - {name: id, type: int}
      - {name: owner_id, type: string, defaultvalue: user.id}
      - {name: n, type: int}
    rowrules:
      - {name: small, actions: [read, update, delete], language: expr, expression: row.owner_id == user.id and row.id < 3}
`

var (
	alice  = principal("alice")
	bob    = principal("bob")
	staff  = principal("sam", "staff")
	writer = principal("wanda", "writer") // may write orders and read none
	nobody = &access.Principal{Anonymous: true, Tenant: "t"}
)

func principal(id string, roles ...string) *access.Principal {
	return &access.Principal{ID: id, Roles: roles, Tenant: "t"}
}

// house is an engine over a real file, with what its writer handed on.
type house struct {
	*engine.Engine
	t   testing.TB
	now time.Time

	mu  sync.Mutex
	log []*store.LogRow
}

func open(t testing.TB, change ...func(*engine.Config)) *house {
	t.Helper()
	return build(t, shop, change...)
}

// build is open for another schema.
func build(t testing.TB, text string, change ...func(*engine.Config)) *house {
	t.Helper()
	model := schematest.Model(t, text)
	h := &house{t: t, now: time.Date(2026, 9, 17, 2, 25, 12, 345678000, time.UTC)}
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "t.db"), Committed: h.committed, Now: func() time.Time { return h.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := db.Migrate(t.Context(), store.Plan{Entities: model.Entities}); err != nil {
		t.Fatal(err)
	}
	config := engine.Config{
		Tenant: "t", Origin: "here", Model: model, Policies: policies(t, model), Store: db,
		Now: func() time.Time { return h.now }, NewID: ids(), Secret: []byte("0123456789abcdef0123456789abcdef"), MaxRows: 50,
	}
	for _, f := range change {
		f(&config)
	}
	if h.Engine, err = engine.New(config); err != nil {
		t.Fatal(err)
	}
	return h
}

func policies(t testing.TB, model *schema.Model) map[string]*access.Policy {
	t.Helper()
	out := map[string]*access.Policy{}
	for _, e := range model.Entities {
		p, refusals := access.Compile(e)
		if len(refusals) > 0 {
			t.Fatal(refusals)
		}
		out[e.Name] = p
	}
	return out
}

// ids returns a source of strictly increasing ULIDs.
func ids() func() string {
	var mu sync.Mutex
	var n uint64
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		n++
		var id ulid.ULID
		for i := range 8 {
			id[15-i] = byte(n >> (8 * i))
		}
		return id.String()
	}
}

func (h *house) committed(rows []*store.LogRow) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, rows...)
}

// events returns what was published on the topic since the last call of forget.
func (h *house) events(topic string) (out []*store.LogRow) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range h.log {
		if row.Topic == topic {
			out = append(out, row)
		}
	}
	return out
}

func (h *house) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = nil
}

func (h *house) grant(pr *access.Principal, entity string, a access.Action) *access.Grant {
	h.t.Helper()
	g, err := h.Grant(pr, entity, a)
	if err != nil {
		h.t.Fatal(err)
	}
	return g
}

func body(t testing.TB, text string) engine.Body {
	t.Helper()
	b, err := engine.DecodeBody([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (h *house) create(pr *access.Principal, entity, text string) (*engine.Outcome, error) {
	h.t.Helper()
	return h.Create(context.Background(), h.grant(pr, entity, access.Create), body(h.t, text), engine.Options{})
}

// given creates a row that must be there, and returns its id.
func (h *house) given(pr *access.Principal, entity, text string) string {
	h.t.Helper()
	out, err := h.create(pr, entity, text)
	if err != nil {
		h.t.Fatal(err)
	}
	return idOf(out)
}

func idOf(out *engine.Outcome) string {
	e := out.Grant.Policy.Entity
	return string(value.AppendText(nil, e.Fields[e.ID].Type, out.ID))
}

func (h *house) patch(pr *access.Principal, entity, id, text string) (*engine.Outcome, error) {
	h.t.Helper()
	return h.Patch(context.Background(), h.grant(pr, entity, access.Update), id, body(h.t, text), engine.Options{})
}

// put and purge write orders.
func (h *house) put(pr *access.Principal, id, text string) (*engine.Outcome, error) {
	h.t.Helper()
	return h.Replace(context.Background(), h.grant(pr, "order", access.Update), id, body(h.t, text), engine.Options{})
}

func (h *house) remove(pr *access.Principal, entity, id string) error {
	h.t.Helper()
	_, err := h.Delete(context.Background(), h.grant(pr, entity, access.Delete), id, engine.Options{})
	return err
}

func (h *house) restore(pr *access.Principal, entity, id string) (*engine.Outcome, error) {
	h.t.Helper()
	return h.Restore(context.Background(), h.grant(pr, entity, access.Restore), id, engine.Options{})
}

func (h *house) purge(pr *access.Principal, id string) error {
	h.t.Helper()
	_, err := h.Purge(context.Background(), h.grant(pr, "order", access.Purge), id, engine.Options{})
	return err
}

// read returns the row as the principal reads it, decoded; nil where it cannot.
func (h *house) read(pr *access.Principal, entity, id string) map[string]any {
	h.t.Helper()
	g := h.grant(pr, entity, access.Read)
	row, err := h.Get(context.Background(), g, id)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return decoded(h.t, g, row)
}

func decoded(t testing.TB, g *access.Grant, row store.Row) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(render.Row(nil, g, nil, row), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// wantFields holds the named members of a row to their values.
func wantFields(t testing.TB, got map[string]any, want map[string]any) {
	t.Helper()
	if got == nil {
		t.Fatal("got no row")
	}
	for name, w := range want {
		if fmt.Sprint(got[name]) != fmt.Sprint(w) {
			t.Errorf("%s: got %v, want %v", name, got[name], w)
		}
	}
}

func wantFault(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
}

// wantInvalid wants the write refused for exactly these "field code" pairs, or
// accepted where there are none.
func wantInvalid(t *testing.T, err error, want []string) {
	t.Helper()
	if len(want) > 0 {
		wantErrors(t, err, fault.Invalid, want...)
	} else if err != nil {
		t.Error(err)
	}
}

// wantErrors holds a fault to exactly these "field code" pairs.
func wantErrors(t *testing.T, err error, code fault.Code, want ...string) {
	t.Helper()
	wantFault(t, err, code)
	f, _ := fault.Of(err)
	got := []string{}
	for _, one := range f.Errors {
		got = append(got, one.Field+" "+one.Code)
	}
	slices.Sort(got)
	slices.Sort(want)
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
