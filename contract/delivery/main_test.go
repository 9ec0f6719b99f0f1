package delivery

import (
	"os"
	"testing"
	"time"

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

// delivered waits until a server that runs in this process has been told of so
// many deliveries that they were accepted, and has written it down.
func delivered(t *testing.T, s *servertest.Server, n int64) {
	t.Helper()
	deadline := time.After(time.Minute)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		var sum int64
		for _, target := range s.Counters()[0].Deliveries {
			sum += target.Delivered
		}
		if sum >= n {
			return
		}
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("%d deliveries were accepted, want %d", sum, n)
		}
	}
}
