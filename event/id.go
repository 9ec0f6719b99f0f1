package event

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// step bounds the random distance between two ids of one millisecond: far
// enough that the next id cannot be guessed, near enough never to overflow. One below a power of 256: the library draws
// whole bytes until they are below it, some 256 times for the power itself.
const step = 1<<40 - 1

// Source draws ULIDs that strictly increase within the process, whatever the
// clock does and however many goroutines ask: an id drawn later is larger.
type Source struct {
	now func() time.Time

	mu      sync.Mutex
	ms      uint64
	entropy *ulid.MonotonicEntropy
}

// NewSource returns a Source on a clock. now defaults to time.Now.
func NewSource(now func() time.Time) *Source {
	if now == nil {
		now = time.Now
	}
	return &Source{now: now, entropy: ulid.Monotonic(rand.Reader, step)}
}

// Next returns the next id, 26 characters.
func (s *Source) Next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ms := ulid.Timestamp(s.now()); ms > s.ms {
		s.ms = ms
	}
	for {
		id, err := ulid.New(s.ms, s.entropy)
		if err == nil {
			return id.String()
		}
		s.ms++ // the millisecond is used up: borrow from the next one
	}
}
