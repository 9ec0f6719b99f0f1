package stream

import (
	"sync"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
)

// Limit bounds the open streams of a server. Safe for concurrent use.
type Limit struct {
	PerPrincipal int // defaults to 100; anonymous callers are no one principal and count only in Total
	Total        int // defaults to 50000

	mu    sync.Mutex
	total int
	by    map[holder]int
}

type holder struct{ tenant, id string }

// Enter takes a place. The error is a fault too_many_streams.
func (l *Limit) Enter(p *access.Principal) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= orDefault(l.Total, 50000) {
		return fault.New(fault.TooManyStreams, "this server has all the streams open that it may; try again later")
	}
	h := holder{p.Tenant, p.ID}
	if per := orDefault(l.PerPrincipal, 100); !p.Anonymous && l.by[h] >= per {
		return fault.New(fault.TooManyStreams, "%d streams are open for this caller, which is the most there may be; close one first", per)
	}
	if l.by == nil {
		l.by = map[holder]int{}
	}
	l.total++
	l.by[h]++
	return nil
}

// Leave gives the place back.
func (l *Limit) Leave(p *access.Principal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := holder{p.Tenant, p.ID}
	l.total--
	if l.by[h]--; l.by[h] <= 0 {
		delete(l.by, h)
	}
}

func orDefault(n, fallback int) int {
	if n == 0 {
		return fallback
	}
	return n
}
