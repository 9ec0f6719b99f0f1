package cluster

import (
	"regexp"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// Both instances are stopped and started anew, one after the other, while rows
// are written. Each stream ends with the last words and a time to wait; who goes
// on at the other instance misses no frame and sees none twice.
func TestARollingRestartLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	both := []*servertest.Server{instance(t, database), instance(t, database)}
	idle := atRest(both)
	passengers := []*passenger{board(t, both[0]), board(t, both[1])}
	c := gather(t, both)
	for i, s := range both {
		c.more(40, time.Second)
		s.Stop()
		for _, p := range passengers {
			if p.at == s {
				p.change(both[1-i])
			}
		}
		s.Start()
	}
	c.more(40, time.Second)
	c.judge()
	orders := [][]string{c.items[0].IDs()}
	for _, p := range passengers {
		orders = append(orders, p.end())
	}
	servertest.Same(t, orders...)
	nothingLeft(t, both, database, idle)
}

// passenger is a stream, byte for byte, that goes on elsewhere when its instance ends it.
type passenger struct {
	t      *testing.T
	at     *servertest.Server
	stream *servertest.Stream
	ids    []string
}

const path = "/subscribe/item?name=all&heartbeat=1s"

func board(t *testing.T, at *servertest.Server) *passenger {
	t.Helper()
	return &passenger{t: t, at: at, stream: at.User("ann").Open(path)}
}

var lastWords = regexp.MustCompile(`^retry: ([1-4][0-9]{3}|5000)\n: closing, reconnect\n$`)

// change reads what was told before the end, and goes on from there.
func (p *passenger) change(to *servertest.Server) {
	p.t.Helper()
	blocks := p.stream.End()
	last := ""
	for _, b := range blocks {
		if b.Event != "" {
			p.ids = append(p.ids, b.ID)
		}
		if b.ID != "" {
			last = b.ID
		}
	}
	if len(blocks) == 0 || !lastWords.MatchString(blocks[len(blocks)-1].Raw) {
		p.t.Fatalf("the stream ends after %d blocks without its last words: %q", len(blocks), blocks[max(0, len(blocks)-1):])
	}
	p.at, p.stream = to, to.User("ann").Resume(path, last)
}

// end reads up to the last row, hangs up, and returns all ids that were told.
func (p *passenger) end() []string {
	p.t.Helper()
	for {
		f := p.stream.Frame()
		p.ids = append(p.ids, f.ID)
		if f.Subject() == "end" {
			p.stream.Close()
			return p.ids
		}
	}
}
