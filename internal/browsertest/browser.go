// Package browsertest runs a headless Chromium for tests: a browser's own
// EventSource is a client that others wrote, that cannot be told to behave, and
// that most subscribers are.
//
// A Browser is one process with a profile of its own in a folder of its own; both
// are gone when it is closed. It reaches loopback addresses and nothing
// else. A Page is a tab, a Follower an EventSource in it. A Balancer puts pages
// and servers behind one origin. All methods are safe for concurrent use; what
// goes wrong fails the test at once, so they are called on the test's goroutine,
// but for those of Follower that only look.
//
// It imports nothing of rowcast, and never uses a browser that runs already.
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// programs are the names that Chromium and its kin are installed under.
var programs = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// Browser is a running Chromium.
type Browser struct {
	ctx   context.Context //nolint:containedctx // chromedp keeps the browser in it
	close func() error
}

// Start starts a browser, and closes it when the test ends.
func Start(t testing.TB) *Browser {
	t.Helper()
	b, err := Launch(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Launch starts a browser for all tests of a package; it ends by Close, or when
// ctx does.
func Launch(ctx context.Context) (*Browser, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	// A browser that is killed leaves files in the folder for temporary ones.
	dir, err := os.MkdirTemp("", "rowcast-chromium-")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.Env("TMPDIR="+dir),
		chromedp.Flag("headless", "new"),
		chromedp.DisableGPU,
		chromedp.NoSandbox, // root cannot have one; the pages are the tests' own
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-crash-reporter", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)
	outer, stop := chromedp.NewExecAllocator(ctx, options...)
	inner, closeBrowser := chromedp.NewContext(outer)
	b := &Browser{ctx: inner, close: func() error { closeBrowser(); stop(); return os.RemoveAll(dir) }}
	if err := chromedp.Do(inner); err != nil {
		return nil, errors.Join(fmt.Errorf("browsertest: start %s: %w", path, err), b.Close())
	}
	return b, nil
}

// Close ends the browser and removes its folders.
func (b *Browser) Close() error { return b.close() }

// program finds the browser.
func program() (string, error) {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("browsertest: no Chromium here: install it (Debian: apt-get install chromium), or run go run ./internal/verify --only needs as root")
}
