package outbox

import (
	"log/slog"
	"sync"
	"time"
)

// complainEvery is how often the log is told of one kind of failure at most.
const complainEvery = 10 * time.Second

// complaints tells the log of a store that fails, and not of each failure.
type complaints struct {
	logger *slog.Logger
	mu     sync.Mutex
	last   map[string]time.Time
	muted  map[string]int
}

// tell logs that what was attempted failed, unless it did so a moment ago.
func (c *complaints) tell(what string, err error) {
	now := time.Now()
	c.mu.Lock()
	if c.last == nil {
		c.last, c.muted = map[string]time.Time{}, map[string]int{}
	}
	if last, before := c.last[what]; before && now.Sub(last) < complainEvery {
		c.muted[what]++
		c.mu.Unlock()
		return
	}
	muted := c.muted[what]
	c.last[what], c.muted[what] = now, 0
	c.mu.Unlock()
	c.logger.Warn("deliveries: the store failed, trying again", "while", what, "err", err, "unsaid", muted)
}
