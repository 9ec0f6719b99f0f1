package delivery

import (
	"os"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// TestMain runs the tests on each driver.
func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// shop publishes orders; only their owner and who bills may read them.
const shop = `
entities:
  - name: order
    table: orders
    fields:
      - {name: id, type: ulid}
      - {name: title, type: string, validations: [{type: required}]}
      - {name: code, type: string, validations: [{type: unique}]}
      - {name: card, type: string, mask: {keeplast: 2}}
      - {name: owner_id, type: string, defaultvalue: user.id}
    rowrules:
      - {name: own, actions: [read, update, delete, create], language: expr, expression: row.owner_id == user.id}
      - {name: bills, actions: [read], language: expr, expression: '"billing" in user.roles and row.title != "hidden"'}
    events: [{name: changed}]
`

// serve starts a server of the shop that delivers to the targets.
func serve(t *testing.T, targets ...string) *servertest.Server {
	t.Helper()
	return servertest.Start(t, servertest.Options{Schema: shop, Targets: targets})
}
