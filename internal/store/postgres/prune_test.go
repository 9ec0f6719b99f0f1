package postgres

import (
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/pgtest"
)

// Pruning reads the log too. What it comes upon, and nobody was woken for, is
// not passed over: the poll goes by how far the log was read.
func TestWhatPruningComesUponIsTold(t *testing.T) {
	url := pgtest.Database(t)
	one := newInstance(t, url)
	for range 3 { // the first may be seen by the look that comes with listening
		silent := pause(t, one.Store, url)
		silent.append(time.Now().Format(time.RFC3339Nano), "a")
		silent.run("COMMIT")
		select {
		case <-one.looked:
		default:
		}
		if _, err := one.Prune(t.Context(), time.Unix(0, 0), 10); err != nil {
			t.Fatal(err)
		}
		select {
		case <-one.looked:
		case <-time.After(30 * time.Second):
			t.Fatal("nobody is told of what pruning has read")
		}
	}
}
