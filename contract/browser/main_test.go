package browser

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/browsertest"
	"github.com/rowcast/rowcast/internal/servertest"
)

const schema = `
entities:
  - name: item
    fields:
      - {name: id, type: string}
      - {name: n, type: int}
      - {name: card, type: string, mask: {keeplast: 2}}
    events: [{name: changed}]
    subscriptions:
      - {name: all}
      - {name: rows, rls: true}
`

// chromium is the browser of all tests; each opens pages of its own, with
// cookies of their own.
var chromium *browsertest.Browser

// TestMain runs the tests on each driver, all in one browser.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	b, err := browsertest.Launch(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := b.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	chromium = b
	return servertest.Main(m)
}

// clean asserts at the end of the test, after all that it started, that nothing
// of it is left.
func clean(t *testing.T) {
	t.Helper()
	option := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		goleak.VerifyNone(t, option)
	})
}

// signedIn opens a page of the balancer, in ann's session.
func signedIn(t *testing.T, b *browsertest.Balancer, s *servertest.Server) *browsertest.Page {
	t.Helper()
	page := chromium.Open(t, b.URL+"/page")
	page.SignIn("", s.Token("ann"))
	return page
}

// told is an event as far as all who see it agree on it.
func told(name, id, subject string) string { return strings.Join([]string{name, id, subject}, " ") }

// same holds what a browser was told from its first event on against the log: it
// is read again from there by another client, up to the row last, on a server
// that is well.
func same(t *testing.T, f *browsertest.Follower, s *servertest.Server, path, last string) {
	t.Helper()
	f.Until(last)
	events := f.Events()
	var got, want []string
	for _, e := range events[1:] {
		got = append(got, told(e.Name, e.ID, e.Subject()))
	}
	stream := s.User("ann").Resume(path, events[0].ID)
	for {
		frame := stream.Frame()
		want = append(want, told(frame.Event, frame.ID, frame.Subject()))
		if frame.Subject() == last {
			break
		}
	}
	if len(got) != len(want) {
		t.Errorf("the browser was told of %d changes, the log has %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("change %d: the browser was told %s, the log has %s", i, got[i], want[i])
		}
	}
}
