package tail

import (
	"fmt"
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

// Under load the tail looks by itself: whoever would have told it may tell less
// often. When nothing comes any more it soon stops.
func TestUnderLoadLooksAreNotWaitedToBeAskedFor(t *testing.T) {
	lookInBubble(t, func(t *testing.T, w *world, s *slow) {
		written := 0
		write := func(n int) {
			w.write(n)
			written += n
		}
		for range 40 { // a thousand rows a second
			write(10)
			w.tail.Look()
			<-time.After(10 * time.Millisecond)
		}
		for range 10 {
			write(100)
			<-time.After(pace.Most + time.Millisecond)
			synctest.Wait()
			if got := w.delivered(); got != written {
				t.Fatalf("%d rows are delivered, want all %d without being asked", got, written)
			}
		}
		<-time.After(10 * time.Second)
		before := s.views.Load()
		<-time.After(time.Minute)
		if looks := s.views.Load() - before; looks != 0 {
			t.Errorf("%d looks in a quiet minute, want none", looks)
		}
	})
}

// A row that is told of late is delivered no later than if it had been told at
// its pace: the looks by themselves go on for as long as notifications may rest.
func TestLooksGoOnForAsLongAsNobodyMayTell(t *testing.T) {
	for _, rate := range []int{400, 600, 1000, 3000} { // rows a second
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			lookInBubble(t, func(t *testing.T, w *world, _ *slow) {
				for range 200 {
					w.write(rate / 100)
					w.tail.Look()
					<-time.After(10 * time.Millisecond)
				}
				synctest.Wait()
				was := w.delivered()
				<-time.After(pace.Most)
				w.write(1) // the load is over, and nobody tells
				<-time.After(pace.Most)
				synctest.Wait()
				if got := w.delivered(); got <= was || got != 200*(rate/100)+1 {
					t.Errorf("%d rows are delivered, want %d", got, 200*(rate/100)+1)
				}
			})
		})
	}
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
