package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// clean asserts at the end of a test, after all that it has started, that
// nothing is left.
func clean(t *testing.T) {
	t.Helper()
	option := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		goleak.VerifyNone(t, option)
	})
}

// script is a server of fixed streams: one for each connection, the last again
// and again. Where it is told to, it hangs up.
func script(t *testing.T, streams ...string) (server *httptest.Server, asked func() []string) {
	t.Helper()
	var n news
	var ids []string
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var text string
		n.tell(func() {
			text = streams[min(len(ids), len(streams)-1)]
			ids = append(ids, r.Header.Get("Last-Event-ID"))
		})
		if text == "hang up" {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	return server, func() (all []string) { n.look(func() { all = slices.Clone(ids) }); return all }
}

func TestAFollowerTellsWhatEventSourceTells(t *testing.T) {
	clean(t)
	server, asked := script(t,
		"retry: 10\n: hello\n\nid: 1\nevent: entity.create\ndata: {\"subject\":\"a\",\"data\":{\"n\":1}}\n\nid: ~2\n\n",
		"hang up",
		"id: 3\nevent: stream.gap\ndata: {}\n\n")
	b := Balance(t, server.URL)
	f := Start(t).Open(t, b.URL+"/page").Follow("/stream")
	first, second := f.Frame(), f.Frame()
	if first.Name != "entity.create" || first.ID != "1" || first.Subject() != "a" || first.Row() != `{"n":1}` || first.State != Open {
		t.Errorf("first: %+v", first)
	}
	if second.Name != "stream.gap" || second.ID != "3" {
		t.Errorf("second: %+v", second)
	}
	var kinds []Kind
	for _, s := range f.Signals()[:5] {
		kinds = append(kinds, s.Kind)
	}
	if want := []Kind{Opened, Evented, Errored, Opened, Evented}; !slices.Equal(kinds, want) && !slices.Equal(kinds, []Kind{Opened, Evented, Errored, Errored, Opened}) {
		t.Errorf("it told %v, want %v", kinds, want)
	}
	if got := asked(); got[0] != "" || got[1] != "~2" || got[2] != "~2" {
		t.Errorf("Last-Event-ID was %q", got)
	}
	f.Close()
	if got := f.State(); got != Closed {
		t.Errorf("state %d after close", got)
	}
}

// Follow is all of it in one call: a session first, then the stream.
func TestFollowSignsInAndFollows(t *testing.T) {
	clean(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/session" {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "of ann", Path: "/", HttpOnly: true})
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if session, err := r.Cookie("session"); err != nil || session.Value != "of ann" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "retry: 100\n\nid: 1\nevent: entity.create\ndata: {\"subject\":\"end\"}\n\n")
	}))
	t.Cleanup(server.Close)
	f := Follow(t, "a token", "/stream", server.URL)
	f.Until("end")
	if got := f.IDs(); got[0] != "1" {
		t.Errorf("ids: %v", got)
	}
}

func TestABalancerPassesOverWhatIsDead(t *testing.T) {
	clean(t)
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	mute := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer mute.Close()
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer live.Close()
	b := Balance(t, dead.URL, mute.URL, live.URL)
	for range 6 {
		resp, err := http.Get(b.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusTeapot {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if resp, err := http.Get(Balance(t, dead.URL).URL); err == nil {
		_ = resp.Body.Close()
		t.Errorf("with nothing behind it, it answers %d", resp.StatusCode)
	}
}

// A browser leaves no folder, and no process that knows of it.
func TestNothingOfABrowserIsLeft(t *testing.T) {
	dir, err := os.MkdirTemp("", "left-") // t.TempDir is too long for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	t.Run("", func(t *testing.T) {
		clean(t)
		b := Start(t)
		b.Open(t, "about:blank")
		if len(processes(t, dir)) == 0 {
			t.Error("the browser has no folder below TMPDIR")
		}
	})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if got := processes(t, dir); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

// processes returns the processes with text in their command line.
func processes(t *testing.T, text string) []string {
	t.Helper()
	var lines []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range files {
		line, err := os.ReadFile(name)
		if err == nil { // else it has ended just now
			lines = append(lines, string(line))
		}
	}
	if len(files) == 0 {
		out, err := exec.Command("ps", "-eo", "args").Output()
		if err != nil {
			t.Fatal(err)
		}
		lines = strings.Split(string(out), "\n")
	}
	return slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, text) })
}
