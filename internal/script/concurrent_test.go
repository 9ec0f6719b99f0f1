package script

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rowcast/rowcast/internal/value"
)

// Runs share machines from a pool: none may see the row or the user of another.
func TestConcurrentRunsDoNotMix(t *testing.T) {
	p := mustCondition(t, `payload.title == user.id and payload.meta.n == payload.total and old == nil`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			id := fmt.Sprint("u", i)
			mine := Change{User: User{ID: id}, Payload: row(map[string]value.Value{
				"title": value.OfText(id), "total": value.OfInt(int64(i)), "meta": value.OfText(fmt.Sprintf(`{"n":%d}`, i)),
			})}
			for range 500 {
				if ok, err := p.RunCondition(mine); !ok || err != nil {
					t.Errorf("%s: got %t, %v", id, ok, err)
					return
				}
				if ok, err := p.RunCondition(Change{Payload: row(nil), User: User{Anonymous: true}}); ok || err == nil { // fails halfway
					t.Errorf("%s: an empty row gives %t, %v", id, ok, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
