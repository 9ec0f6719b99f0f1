package contract

import (
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// board is the schema that most tests of channels share.
const board = `
enums:
  - name: task_status
    values: [{value: todo}, {value: doing}, {value: done}]
entities:
  - name: task             # everybody reads every row
    inherits: [softdelete]
    fields:
      - {name: id, type: string}
      - {name: title, type: string, validations: [{type: required}]}
      - {name: status, type: task_status, defaultvalue: todo}
      - {name: points, type: int}
      - {name: done_at, type: timestamp}
    access:
      actions: {language: expr, expression: '["create", "read", "update", "delete", "restore", "purge"]'}
    realtime: {filterable: true}
    operations:
      - {name: finish, kind: write, cardinality: one, realtimeevent: updated, set: {status: done, done_at: {language: expr, expression: now()}}}
      - {name: renew, kind: write, cardinality: one, realtimeevent: created, set: {status: todo}}
      - {name: scrap, kind: write, cardinality: one, realtimeevent: deleted, set: {title: scrapped}}
      - {name: tidy, kind: write, cardinality: one, set: {points: 0}}
      - {name: hush, kind: write, cardinality: one, realtimeevent: patched, realtime: false, set: {points: 1}}
      - {name: whisper, kind: write, cardinality: one, realtimeevent: patched, realtime: {events: {patched: false}}, set: {points: 2}}

  - name: note             # rows belong to their owner; staff sees all
    fields:
      - {name: id, type: string}
      - {name: title, type: string}
      - {name: owner_id, type: string, defaultvalue: user.id}
      - {name: card, type: string, mask: {keeplast: 2}}
      - {name: secret, type: string}
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? true : "blind" in user.roles ? ["create"] : ["create", "read", "update", "delete"]'}
      read: {language: expr, expression: '"staff" in user.roles ? true : ["id", "title", "owner_id", "card"]'}
    rowrules:
      - {name: own, actions: [read, update, delete], language: expr, expression: row.owner_id == user.id}
      - {name: staff, actions: [read, update, delete], language: expr, expression: '"staff" in user.roles'}
    realtime: {filterable: true}

  - name: card             # two of its fields leave
    fields: [{name: id, type: string}, {name: title, type: string}, {name: price, type: int}, {name: memo, type: string}]
    realtime: {subscribablefields: [title, price], filterable: true}

  - name: sheet            # all but one of its fields leave
    fields: [{name: id, type: string}, {name: title, type: string}, {name: memo, type: string}]
    realtime: {subscribablefields: {exclude: [memo]}, filterable: true}

  - name: plain            # takes no filter
    fields: [{name: id, type: string}, {name: title, type: string}]
    realtime: {}

  - name: muted
    fields: [{name: id, type: string}, {name: title, type: string}]
    realtime: {events: {patched: false}}
    operations:
      - {name: fix, kind: write, cardinality: one, realtimeevent: patched, set: {title: fixed}}
      - {name: cry, kind: write, cardinality: one, realtimeevent: patched, realtime: {events: {patched: true}}, set: {title: cried}}

  - name: dark             # says nothing of channels, and neither does the boot document
    fields: [{name: id, type: string}, {name: title, type: string}]
`

func startBoard(t *testing.T) *servertest.Server {
	t.Helper()
	return servertest.Start(t, servertest.Options{Schema: board})
}

// tells reads the next frames of a channel, each as "event id" or "event id changed".
func tells(t *testing.T, stream *servertest.Stream, want ...string) {
	t.Helper()
	for i, w := range want {
		f := stream.Frame()
		if got := inShort(f); got != w {
			t.Fatalf("frame %d is %q, want %q: %s", i+1, got, w, f.Data)
		}
	}
}

// inShort is a frame of a channel in short.
func inShort(f servertest.Frame) string {
	doc := f.JSON()
	id, _ := doc["id"].(string)
	text := f.Event + " " + id
	if names, ok := doc["changed"].([]any); ok {
		for i, name := range names {
			text += []string{" ", ","}[min(i, 1)] + name.(string)
		}
	}
	return text
}

// item returns the bytes of a frame's item.
func item(t *testing.T, f servertest.Frame) string {
	t.Helper()
	ms, err := members(f.Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ms {
		if m.name == "item" {
			return m.raw
		}
	}
	t.Fatalf("no item in %s", f.Data)
	return ""
}

func escape(query string) string {
	return strings.NewReplacer(" ", "%20", "%", "%25", "\n", "%0A").Replace(query)
}

// fill puts a name in where a query has %s.
func fill(query, name string) string { return strings.Replace(query, "%s", name, 1) }
