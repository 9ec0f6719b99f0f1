//go:build failpoint

package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

var chosen = parse(os.Getenv("ROWCAST_FAILPOINT"))

type point struct {
	name  Name
	after int64 // hits until the end
	hits  atomic.Int64
}

func parse(text string) *point {
	name, count, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 {
		n = 1
	}
	return &point{name: Name(name), after: n}
}

// Hit kills the process at the chosen place. It does not return then.
func Hit(name Name) {
	if name != chosen.name || chosen.hits.Add(1) != chosen.after {
		return
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill() // nothing that was deferred runs
	}
	select {}
}
