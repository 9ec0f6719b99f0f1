package cluster

import (
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// The network between one of two instances and the database becomes slow,
// breaks, and goes silent in the middle of connections: nobody misses a
// committed change or sees one twice, every answer is true, and the instance
// goes on by itself.
func TestAFaultyNetworkLosesNothing(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	proxy := pgtest.NewProxy(t, database)
	both := []*servertest.Server{instance(t, proxy.URL()), instance(t, database)}
	c := gather(t, both)
	calm := length(t, time.Second, 10*time.Second)
	for range int(length(t, 1, 3)) {
		c.more(20, calm)
		proxy.Delay(30 * time.Millisecond)
		c.more(20, calm)
		proxy.Reset()
		c.more(20, calm)
		proxy.Delay(0)
		proxy.Reset()
		c.more(20, calm)
		proxy.HalfOpen()
	}
	c.more(20, calm)
	c.judge()
}
