package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/render"
	"github.com/rowcast/rowcast/schema"
)

// desk is the schema of the operations' tests. An invoice is read by its owner,
// while it is open by everybody, and by staff; a clerk may only write.
const desk = `
enums:
  - name: invoice_status
    values: [{value: open}, {value: paid}]
entities:
  - name: invoice
    inherits: [common, softdelete]
    fields:
      - {name: id, type: string}
      - {name: title, type: string, validations: [{type: required}, {type: maxlength, value: 20}]}
      - {name: status, type: invoice_status, defaultvalue: open}
      - {name: total, type: int, validations: [{type: max, value: 100}]}
      - {name: code, type: string, validations: [{type: unique}]}
      - {name: owner_id, type: string, defaultvalue: user.id}
      - {name: paid_at, type: timestamp}
      - {name: pin, type: string, mask: {keeplast: 2}}
      - {name: secret, type: int, validations: [{type: max, value: 100}]}
      - {name: born, type: string, validations: [{type: final}]}
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? true : "clerk" in user.roles ? ["create","update"] : ["create","read","update"]'}
      read: {language: expr, expression: '"staff" in user.roles ? true : ["id","title","status","total","code","owner_id","paid_at","pin","born","updatedby"]'}
    rowrules:
      - {name: own, actions: [read, update, create], language: expr, expression: row.owner_id == user.id}
      - {name: open, actions: [read], language: expr, expression: row.status == "open"}
      - {name: writers, actions: [read, update, delete, create], language: expr, expression: '"staff" in user.roles or "clerk" in user.roles'}
    events: [{name: changed}]
    realtime: {filterable: true}
    operations:
      - {name: markPaidOne, kind: write, cardinality: one, realtimeevent: updated, set: {paid_at: {language: expr, expression: now()}, status: paid}}
      - {name: touchOne, kind: write, cardinality: one, set: {title: touched}}
      - {name: muted, kind: write, cardinality: one, realtimeevent: patched, realtime: false, set: {title: muted}}
      - {name: seal, kind: write, cardinality: one, realtimeevent: patched, set: {pin: "1234", secret: {language: expr, expression: (payload.secret ?? 0) + 1}}}
      - {name: raise, kind: write, cardinality: one, realtimeevent: patched, set: {total: {language: expr, expression: payload.total + 50}}}
      - {name: swap, kind: write, cardinality: one, set: {title: {language: expr, expression: payload.code}, code: {language: expr, expression: payload.title}}}
      - {name: give, kind: write, cardinality: one, set: {owner_id: bob}}
      - {name: claim, kind: write, cardinality: one, set: {code: taken}}
      - {name: close, kind: write, cardinality: one, realtimeevent: deleted, set: {status: paid}}
      - {name: scrap, kind: write, cardinality: one, action: delete, set: {title: scrap}}
  - name: entry
    fields:
      - {name: id, type: ulid}
      - {name: invoice, type: string}
      - {name: note, type: string, validations: [{type: required}, {type: unique}]}
      - {name: hidden, type: string, validations: [{type: maxlength, value: 3}]}
    access:
      actions: {language: expr, expression: '["read"]'}
      read: {language: expr, expression: '["id","invoice","note"]'}
    events: [{name: logged}]
    realtime: {}
`

var clerk = principal("clara", "clerk")

// operate takes an operation, on a row where id is given.
func (h *house) operate(pr *access.Principal, name, id string, more ...func(*engine.Request)) (*engine.Done, error) {
	h.t.Helper()
	op, g, err := h.Operation(pr, "invoice", name, id != "")
	if err != nil {
		return nil, err
	}
	r := engine.Request{ID: id}
	for _, f := range more {
		f(&r)
	}
	return h.Operate(context.Background(), g, op, r)
}

// Channels contract, section 1: an operation publishes as what it is declared
// as, with the names of what it sets; one that declares nothing is told to no
// channel. On /subscribe each is an update.
func TestADeclaredOperationWritesItsRowOnce(t *testing.T) {
	for _, c := range []struct {
		name, event, sent, differs string
		op                         schema.Op // of the channel's row
		want                       map[string]any
	}{
		{"markPaidOne", "updated", "paid_at,status", "status,paid_at,updatedby", schema.Update, map[string]any{"status": "paid", "paid_at": "2026-09-17T02:25:12.345678Z"}},
		{"touchOne", "", "title", "", schema.Update, map[string]any{"title": "touched"}},
		{"muted", "", "title", "", schema.Update, map[string]any{"title": "muted"}},
		{"swap", "", "title,code", "", schema.Update, map[string]any{"title": "abc", "code": "first"}},
		{"close", "deleted", "status", "status,updatedby", schema.Delete, map[string]any{"status": "paid"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := build(t, desk)
			h.given(alice, "invoice", `{"id":"i1","title":"first","code":"abc","total":1}`)
			h.forget()
			who := principal("sam", "staff")
			done, err := h.operate(who, c.name, "i1")
			if err != nil {
				t.Fatal(err)
			}
			wantFields(t, decoded(t, done.Outcome.Grant, done.Outcome.Row), c.want)
			wantFields(t, h.read(staff, "invoice", "i1"), c.want)
			wantFields(t, h.read(staff, "invoice", "i1"), map[string]any{"updatedby": "sam"})
			topic := h.events("entity.invoice")
			if len(topic) != 1 || topic[0].Operation != schema.Update || strings.Join(topic[0].Sent, ",") != c.sent || topic[0].Row == nil {
				t.Errorf("topic: got %+v", topic)
			}
			channel := h.events("")
			if c.event == "" {
				if len(channel) != 0 {
					t.Errorf("channel: got %+v, want nothing", channel)
				}
				return
			}
			if len(channel) != 1 || channel[0].Fine != c.event || channel[0].Operation != c.op || channel[0].Subject != "i1" || channel[0].Actor != "sam" {
				t.Fatalf("channel: got %+v", channel)
			}
			if got := strings.Join(channel[0].Sent, ","); got != c.sent {
				t.Errorf("sent: got %q, want %q", got, c.sent)
			}
			if got := strings.Join(channel[0].Differs, ","); got != c.differs {
				t.Errorf("differs: got %q, want %q", got, c.differs)
			}
			// What is told as deleted carries no values, in the row or the guard.
			if gone := c.op == schema.Delete; gone != (channel[0].Row == nil) || gone != (channel[0].Guard.After == nil) || channel[0].Guard.Before == nil {
				t.Errorf("got row %v and guard %v", channel[0].Row, channel[0].Guard)
			}
		})
	}
}

// What an operation sets is the schema's doing: it may set what its caller can
// neither write nor read, and the answer shows no more than a GET.
func TestAnOperationSetsWhatItsCallerCannotSee(t *testing.T) {
	h := build(t, desk)
	h.given(alice, "invoice", `{"id":"i1","title":"first"}`)
	done, err := h.operate(alice, "seal", "i1")
	if err != nil {
		t.Fatal(err)
	}
	shown := string(render.Row(nil, done.Outcome.Grant, nil, done.Outcome.Row))
	if strings.Contains(shown, "secret") || !strings.Contains(shown, `"pin":"**34"`) {
		t.Errorf("got %s", shown)
	}
	wantFields(t, h.read(staff, "invoice", "i1"), map[string]any{"pin": "1234", "secret": 1})
	done, err = h.operate(clerk, "markPaidOne", "i1") // a clerk reads no invoice
	if err != nil || done.Outcome.Row != nil {
		t.Errorf("got %+v and %v, want no row to show", done, err)
	}
}

// An operation is judged in the order of every write, and one that is refused
// has written nothing and told nobody.
func TestAnOperationIsJudgedLikeAWrite(t *testing.T) {
	h := build(t, desk)
	h.given(alice, "invoice", `{"id":"i1","title":"first","total":60}`)
	h.given(alice, "invoice", `{"id":"hidden","title":"first","status":"paid"}`)
	h.given(staff, "invoice", `{"id":"full","title":"first","secret":100,"owner_id":"alice"}`)
	h.given(staff, "invoice", `{"id":"other","title":"first","code":"taken"}`)
	h.given(staff, "invoice", `{"id":"gone","title":"first"}`)
	if err := h.remove(staff, "invoice", "gone"); err != nil {
		t.Fatal(err)
	}
	h.forget()
	before := h.read(staff, "invoice", "i1")
	match := func(tag string) func(*engine.Request) { return func(r *engine.Request) { r.IfMatch = tag } }
	for _, c := range []struct {
		name, operation, id string
		who                 *access.Principal
		more                func(*engine.Request)
		code                fault.Code
		errors              []string
	}{
		{"no such operation", "paint", "i1", alice, nil, fault.OperationNotFound, nil},
		{"it is on a row", "markPaidOne", "", alice, nil, fault.OperationNotFound, nil},
		{"its action is not allowed", "scrap", "i1", alice, nil, fault.Forbidden, nil},
		{"a header that cannot be read", "markPaidOne", "nope", alice, match("x"), fault.BadParameter, nil},
		{"no such row", "markPaidOne", "nope", alice, nil, fault.NotFound, nil},
		{"a hidden row", "markPaidOne", "hidden", bob, match("*"), fault.NotFound, nil},
		{"a deleted row", "markPaidOne", "gone", staff, nil, fault.NotFound, nil},
		{"another version", "markPaidOne", "i1", bob, match(`"old"`), fault.PreconditionFailed, nil},
		{"a row that is another's", "markPaidOne", "i1", bob, nil, fault.RowRefused, nil},
		{"a validation fails", "raise", "i1", alice, nil, fault.Invalid, []string{"total max"}},
		{"a validation of what the caller cannot see", "seal", "full", alice, nil, fault.Invalid, nil},
		{"the same for who can", "seal", "full", staff, nil, fault.Invalid, []string{"secret max"}},
		{"a script that fails", "raise", "full", alice, nil, fault.Internal, nil},
		{"the row as written is refused", "give", "i1", alice, nil, fault.RowRefused, nil},
		{"another row has the value", "claim", "i1", alice, nil, fault.Conflict, []string{"code unique"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			more := []func(*engine.Request){}
			if c.more != nil {
				more = append(more, c.more)
			}
			done, err := h.operate(c.who, c.operation, c.id, more...)
			if done != nil {
				t.Errorf("got %+v beside the fault", done)
			}
			wantErrors(t, err, c.code, c.errors...)
			wantFields(t, h.read(staff, "invoice", "i1"), before)
			if len(h.log) != 0 {
				t.Errorf("told %d events", len(h.log))
			}
		})
	}
}

func TestAnUnknownOperationNamesThoseThereAre(t *testing.T) {
	h := build(t, desk)
	_, _, err := h.Operation(clerk, "invoice", "paint", true)
	f, _ := fault.Of(err)
	want := []string{"claim", "close", "give", "markPaidOne", "muted", "raise", "seal", "swap", "touchOne"} // not scrap: a clerk deletes nothing
	if f == nil || !slices.Equal(f.Available, want) {
		t.Errorf("got %v, want %v", f, want)
	}
	if _, _, err := h.Operation(alice, "nothing", "paint", true); !fault.Is(err, fault.EntityNotFound) {
		t.Errorf("got %v", err)
	}
}

// An operation sent twice under one key is taken once, and answered as the
// caller may read the row then.
func TestAnOperationIsTakenOnceUnderAKey(t *testing.T) {
	h := build(t, desk)
	h.given(alice, "invoice", `{"id":"i1","title":"first","total":1}`)
	key := func(r *engine.Request) { r.Options = engine.Options{Key: "k", Request: "raise i1"} }
	for i := range 2 {
		done, err := h.operate(alice, "raise", "i1", key)
		if err != nil {
			t.Fatal(err)
		}
		wantFields(t, decoded(t, done.Outcome.Grant, done.Outcome.Row), map[string]any{"total": 51})
		if done.Again != (i == 1) || done.Outcome.Again != (i == 1) {
			t.Errorf("time %d: got again %t", i, done.Again)
		}
	}
	_, err := h.operate(alice, "touchOne", "i1", func(r *engine.Request) { r.Options = engine.Options{Key: "k", Request: "touchOne i1"} })
	wantFault(t, err, fault.IdempotencyMismatch)
}
