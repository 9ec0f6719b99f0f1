package contract

import (
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// shop is the schema most tests share.
const shop = `
enums:
  - name: order_status
    values: [{value: draft}, {value: open}, {value: paid}]
entities:
  - name: order            # rows belong to their owner; staff sees all
    inherits: [common, softdelete]
    fields:
      - {name: id, type: ulid}
      - {name: title, type: string, validations: [{type: required}, {type: maxlength, value: 200}]}
      - {name: status, type: order_status, defaultvalue: open}
      - {name: owner_id, type: string, defaultvalue: user.id}
      - {name: total, type: int}
      - {name: card_last4, type: string, mask: {keeplast: 2}}
      - {name: internal_notes, type: string}
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? ["create","read","update","delete","restore","purge","unmask"] : ["create","read","update","delete","restore"]'}
      read: {language: expr, expression: '"staff" in user.roles ? true : ["id","title","status","owner_id","total","card_last4"]'}
    rowrules:
      - {name: own, actions: [read, update, delete], language: expr, expression: row.owner_id == user.id}
      - {name: staff, actions: [read, update, delete], language: expr, expression: '"staff" in user.roles'}
    events:
      - {name: changed, exclude: [internal_notes], condition: {language: expr, expression: payload.status != "draft"}}
    subscriptions:
      - {name: mine, rls: true}

  - name: product          # no row rules: notifications, and rows for who asks
    fields:
      - {name: id, type: string}
      - {name: name, type: string}
      - {name: price, type: int}
      - {name: secret, type: string}
    events:
      - {name: changed, include: [id, name, price]}
      - {name: arrivals, operations: [create], topic: product.arrivals}
    subscriptions:
      - {name: changes}
      - {name: rows, rls: true}
      - {name: own, scope: user}
      - {name: dear, rls: true, filter: {language: expr, expression: payload.price > 100}}
      - {name: arrivals, source: product.arrivals}
      - {name: writes, eventtypes: [create, update]}

  - name: bell             # one subscription
    fields:
      - {name: id, type: string}
      - {name: text, type: string}
    events:
      - {name: changed}
    subscriptions:
      - {name: rings}

  - name: diary            # nobody but staff may read it
    fields:
      - {name: id, type: string}
      - {name: text, type: string}
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? ["create","read","update","delete"] : ["create"]'}
    events:
      - {name: changed}
    subscriptions:
      - {name: all, rls: true}

  - name: quiet            # publishes, and nobody may listen
    fields:
      - {name: id, type: string}
    events:
      - {name: changed}

  - name: mute             # publishes nothing
    fields:
      - {name: id, type: string}
`

func start(t *testing.T) *servertest.Server {
	t.Helper()
	return servertest.Start(t, servertest.Options{Schema: shop})
}
