package tenancy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/store/sqlite"
)

// hook is a receiver; what it is sent comes out of requests.
func hook(t *testing.T, answer func(r *http.Request)) (target Target, requests <-chan string) {
	t.Helper()
	got := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.Header.Get("X-Kisai-Delivery") + " " + string(body)
		answer(r)
	}))
	t.Cleanup(s.Close)
	return Target{Name: "hook", URL: s.URL + "/a?key=secret", Secrets: []string{"s"}, Timeout: 10 * time.Second, Topics: []string{"entity.bell"}, MaxInFlight: 2}, got
}

// targeted returns a unit with the target that runs.
func targeted(t *testing.T, path string, target ...Target) *world {
	t.Helper()
	w := &world{t: t, disk: &disk{}, done: make(chan error, 1)}
	c := config(t, "t", bells, path, w.disk)
	c.Targets = target
	var err error
	if w.unit, err = Open(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAUnitDeliversWhatItWrites(t *testing.T) {
	left := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, left) })
	target, requests := hook(t, func(*http.Request) {})
	w := targeted(t, filepath.Join(t.TempDir(), "t.db"), target)
	w.run()
	<-w.unit.Tail.Ready()
	w.ring()
	if got := <-requests; !strings.HasPrefix(got, "U") || !strings.Contains(got, `"type":"entity.create"`) {
		t.Errorf("got %s", got)
	}
	stats, err := w.unit.Outbox.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := stats.Targets[0].URL; strings.Contains(got, "secret") || !strings.HasSuffix(got, "/a") {
		t.Errorf("statistics show %s", got)
	}
}

// A unit that stops gives back what it holds: the next instance need not wait
// until a lease has run out.
func TestAStoppedUnitLeavesNothingLeased(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	target, requests := hook(t, func(r *http.Request) { <-r.Context().Done() })
	t.Run("stop", func(t *testing.T) {
		w := targeted(t, path, target)
		w.run()
		<-w.unit.Tail.Ready()
		for range 5 {
			w.ring()
		}
		<-requests
	})
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	depths, err := db.Queue().Depths(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(depths) != 1 || depths[0].Pending != 5 || depths[0].Claimed != 0 {
		t.Errorf("left in the queue: %+v", depths)
	}
}

func TestAUnitWithoutTargetsHasNoRelay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		<-w.unit.Tail.Ready()
		w.ring()
		if w.unit.Outbox != nil {
			t.Error("there is a relay")
		}
	})
}
