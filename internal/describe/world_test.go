package describe_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast"
	"github.com/rowcast/rowcast/internal/servertest"
)

// world has a field of each type, each validation, and something to withhold of
// each kind: what "hush" stands in is for staff alone.
const world = `enums:
  - name: phase
    values: [{value: draft}, {value: open}]
  - name: hush_grade
    values: [{value: hush_low}, {value: hush_high}]
entities:
  - name: note
    inherits: [common, softdelete]
    fields:
      - {name: id, type: ulid}
      - {name: title, type: string, validations: [{type: required}, {type: minlength, value: 2}, {type: maxlength, value: 9}, {type: pattern, value: "^[a-z]+$"}, {type: unique}]}
      - {name: phase, type: phase, defaultvalue: draft}
      - {name: size, type: int, validations: [{type: min, value: 1}, {type: max, value: 9}]}
      - {name: large, type: bigint}
      - {name: ratio, type: double}
      - {name: done, type: boolean}
      - {name: day, type: date, validations: [{type: min, value: "2020-01-01"}]}
      - {name: seen, type: timestamp}
      - {name: meant, type: datetime}
      - {name: ref, type: uuid}
      - {name: meta, type: object}
      - {name: tags, type: array, validations: [{type: maxlength, value: 3}]}
      - {name: blob, type: bytes, validations: [{type: maxlength, value: 4}]}
      - {name: tone, type: string, validations: [{type: oneof, value: [low, high]}]}
      - {name: code, type: string, validations: [{type: pattern, value: "(?i)^x$"}]}
      - {name: owner, type: string, defaultvalue: user.id, validations: [{type: final}]}
      - {name: phone, type: string, mask: {keeplast: 2}}
      - {name: pin, type: int, mask: {}}
      - {name: hush_remark, type: string}
      - {name: hush_level, type: hush_grade}
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? true : "public" in user.roles ? ["read"] : ["create","read","update"]'}
      read: {language: expr, expression: '"staff" in user.roles ? true : "public" in user.roles ? ["id","title"] : ["id","title","phase","size","large","ratio","done","day","seen","meant","ref","meta","tags","blob","tone","code","owner","phone","pin","createdby","createdon","updatedby","updatedon"]'}
    events:
      - {name: changed, exclude: [meta]}
    subscriptions:
      - {name: feed, rls: true}
      - {name: bell, eventtypes: [create]}
      - {name: hush_tap, source: entity.hush_ledger, rls: true}
    realtime: {filterable: true, subscribablefields: [id, title, phase, hush_remark]}
    operations:
      - {name: finish, kind: write, cardinality: one, action: update, realtimeevent: patched, set: {done: true}}
      - {name: hush_wipe, kind: write, cardinality: one, action: delete, set: {done: false}}
  - name: hush_ledger
    fields: [{name: id, type: bigint}, {name: hush_sum, type: int}]
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? true : []'}
    events: [{name: changed}]
    subscriptions: [{name: hush_all}]
    realtime: {}
  - name: box
    fields:
      - {name: id, type: ulid}
      - {name: text, type: string, validations: [{type: required}]}
      - {name: extra, type: string}
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? true : ["create"]'}
  - name: demand
    fields:
      - {name: id, type: string}
      - {name: needed, type: string, validations: [{type: required}]}
      - {name: hush_free, type: string}
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? true : "public" in user.roles ? [] : ["create","read","update"]'}
      read: {language: expr, expression: '"staff" in user.roles ? true : ["id"]'}
`

// hook is a target with things that nobody is told.
const hook = `hush_hook: {url: "http://127.0.0.1:9/never-path?never-query", secret: "never-secret-text-of-the-hook", topics: [entity.note, entity.hush_ledger],
      as: {id: never-reader, roles: [staff]}, headers: {X-Never: never-value}}`

// embed adds operations that are done in Go.
func embed(c *rowcast.Config) {
	nothing := func(context.Context, *rowcast.Call) error { return nil }
	c.Operations = []rowcast.Operation{
		{Entity: "note", Name: "tally", Kind: "read", Cardinality: "many", Handler: nothing},
		{Entity: "note", Name: "hush_sweep", Cardinality: "many", Action: "delete", Handler: nothing},
	}
}

// start serves the world to anonymous callers too.
func start(t *testing.T) *servertest.Server {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
	return servertest.Start(t, servertest.Options{Schema: world, Auth: "  anonymous: {roles: [public]}\n", Targets: []string{hook}, Embed: embed})
}

// callers are the principals that descriptions are made for.
func callers(s *servertest.Server) map[string]*servertest.Caller {
	all := map[string]*servertest.Caller{
		"anonymous": s.As(""), "user": s.User("ann"), "admin": s.User("root", "admin"), "staff": s.User("sam", "staff", "admin"),
	}
	for name, c := range all {
		all[name] = c.With("Connection", "close")
	}
	return all
}

var paths = []string{"/openapi.json", "/asyncapi.json"}
