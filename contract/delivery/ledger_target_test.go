package delivery

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rowcast/rowcast/internal/servertest"
)

// What targets want.
const (
	items      = "topics: [entity.item]"
	notes      = "topics: [entity.note]"
	everything = "topics: [entity.item, entity.note]"
)

// target is one of a server's, and what it is held to.
type target struct {
	*servertest.Receiver
	wants string // its topics, in YAML
	keys  string // the others, in YAML
}

// reads reports whether the target reads as the biller.
func (g target) reads() bool { return strings.Contains(g.keys, "as: ") }

// wanted reports whether the target is to be told of an event.
func (g target) wanted(e told) bool {
	return strings.Contains(g.wants, "entity."+e.entity) && (!g.reads() || e.change != unseen)
}

// declared is the YAML of targets, but for one that is left out, and with a header
// that says which instance it is.
func declared(targets map[string]target, out, instance string) (yaml []string) {
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		if g := targets[name]; name != out {
			yaml = append(yaml, g.Target(name, g.wants+g.keys+", headers: {X-Instance: "+strconv.Quote(instance)+"}"))
		}
	}
	return yaml
}

// script is what a target replies to the deliveries about chosen rows: to each
// delivery the replies in turn, and then 200, as to all others.
type script struct {
	mu      sync.Mutex
	replies map[string][]servertest.Reply // by row
	taken   map[string]int                // by delivery
}

func newScript() *script {
	return &script{replies: map[string][]servertest.Reply{}, taken: map[string]int{}}
}

func (s *script) about(row string, replies ...servertest.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[row] = replies
}

func (s *script) reply(got servertest.Received) servertest.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	replies, n := s.replies[subjectOf(got)], s.taken[got.ID]
	if n >= len(replies) {
		return servertest.Reply{}
	}
	s.taken[got.ID]++
	return replies[n]
}

// moody answers 500 to a share of the first requests, and to no delivery more
// than twice.
func moody(share float64) func(servertest.Received) servertest.Reply {
	var mu sync.Mutex
	failed := map[string]int{}
	return func(got servertest.Received) servertest.Reply {
		mu.Lock()
		defer mu.Unlock()
		if failed[got.ID] < 2 && rand.Float64() < share {
			failed[got.ID]++
			return servertest.Reply{Status: 500}
		}
		return servertest.Reply{}
	}
}

// about reports whether there are so many requests about a row.
func about(subject string, n int) func([]servertest.Received) bool {
	return func(all []servertest.Received) bool { return len(only(all, subject)) >= n }
}

// only returns the requests about a row.
func only(all []servertest.Received, subject string) (some []servertest.Received) {
	for _, got := range all {
		if subjectOf(got) == subject {
			some = append(some, got)
		}
	}
	return some
}

// subjectOf is the row that a request is about; "" where it cannot be read.
func subjectOf(got servertest.Received) string {
	var body struct{ Subject string }
	if err := json.Unmarshal(got.Body, &body); err != nil {
		return ""
	}
	return body.Subject
}
