package tail

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/internal/pace"
)

// A store that others write to has the tail look at each commit. Under load one
// look serves many of them; after a quiet time a look is at once.
func TestLooksAreFewUnderLoadAndAtOnceAfterQuiet(t *testing.T) {
	lookInBubble(t, func(t *testing.T, w *world, s *slow) {
		const commits, rows = 80, 5
		before := s.views.Load()
		for range commits { // a thousand rows a second
			w.write(rows)
			w.tail.Look()
			<-time.After(rows * time.Millisecond)
		}
		if looks := s.views.Load() - before; looks > commits/2 {
			t.Errorf("%d looks at %d commits, want one for many", looks, commits)
		}
		<-time.After(pace.Most)
		synctest.Wait()
		if got := w.delivered(); got != rows*commits {
			t.Errorf("%d rows are delivered %s later, want all %d", got, pace.Most, rows*commits)
		}

		<-time.After(10 * time.Second)
		w.write(1)
		began := time.Now()
		w.tail.Look()
		synctest.Wait()
		if got, took := w.delivered(), time.Since(began); got != rows*commits+1 || took != 0 {
			t.Errorf("%d rows are delivered in %s after a quiet time, want %d in no time", got, took, rows*commits+1)
		}
	})
}

// Rows are fetched few at a time until they are known to be small, and few
// again once they are not.
func TestRowsAreFetchedByWhatTheyWeigh(t *testing.T) {
	var s step
	if got := s.rows(); got != fetchRows {
		t.Errorf("begins with %d, want %d", got, fetchRows)
	}
	for range 10 {
		s.weighed(1000*s.rows(), s.rows())
	}
	if got := s.rows(); got != fetchMost {
		t.Errorf("%d of small ones, want %d", got, fetchMost)
	}
	s.weighed(0, 0) // nothing was fetched, nothing learnt
	if got := s.rows(); got != fetchMost {
		t.Errorf("%d after a fetch of none, want %d", got, fetchMost)
	}
	if s.weighed(fetchMost<<20, fetchMost); s.rows() != fetchRows {
		t.Errorf("%d of large ones, want %d", s.rows(), fetchRows)
	}
}
