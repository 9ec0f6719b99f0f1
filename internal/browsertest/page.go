package browsertest

import (
	"context"
	_ "embed" // follow.js
	"encoding/json"
	"strconv"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// binding is the function by which pages tell the test.
const binding = "tellTheTest"

//go:embed follow.js
var followScript string

// Page is a tab. Its cookies are its own.
type Page struct {
	t   testing.TB
	ctx context.Context //nolint:containedctx // chromedp keeps the tab in it

	mu        sync.Mutex
	followers []*Follower
}

// Open opens a page, and waits until it has loaded. It is closed when the test
// ends.
func (b *Browser) Open(t testing.TB, url string) *Page {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	p := &Page{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		closeTab()
		t.Fatalf("open a tab: %v", err)
	}
	calls, ended := chromedp.Events(ctx, runtime.BindingCalled), make(chan struct{})
	go func() {
		defer close(ended)
		for call, err := range calls {
			if err != nil {
				return // the tab is closed
			}
			p.take(call)
		}
	}()
	t.Cleanup(func() { closeTab(); <-ended })
	if _, err := chromedp.Call(ctx, runtime.AddBinding, runtime.AddBindingParams{Name: binding}); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	p.Go(url)
	return p
}

// Go leaves for another page, and waits until it has loaded.
func (p *Page) Go(url string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		p.t.Fatalf("open %s: %v", url, err)
	}
}

// Eval runs an expression of JavaScript in the page and stores its value in
// result, as JSON would be; a promise is waited for. A nil result is not stored.
func (p *Page) Eval(expression string, result any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("Promise.resolve("+expression+").then(v => JSON.stringify(v ?? null))", chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("in the page: %v", err)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal([]byte(text), result); err != nil {
		p.t.Fatalf("in the page: %s: %v", text, err)
	}
}

// Fetch sends a request from the page, with its cookies and, where body is not
// "", JSON. url may be relative to the page. It returns the status.
func (p *Page) Fetch(method, url, body string) (status int) {
	p.t.Helper()
	request := "method: " + quote(method) + ", credentials: 'include'"
	if body != "" {
		request += ", headers: {'Content-Type': 'application/json'}, body: " + quote(body)
	}
	p.Eval("fetch("+quote(url)+", {"+request+"}).then(answer => answer.status)", &status)
	return status
}

// SignIn has the server at url, "" for the page's own, keep the token in its
// session cookie.
func (p *Page) SignIn(url, token string) {
	p.t.Helper()
	if got := p.Fetch("POST", url+"/session", `{"token":`+quote(token)+`}`); got != 204 {
		p.t.Fatalf("signing in is answered %d", got)
	}
}

// Follow opens an EventSource on url, which may be relative to the page, and
// returns at once; see Follower.Opened.
func (p *Page) Follow(url string) *Follower {
	p.t.Helper()
	f := &Follower{t: p.t, page: p, url: url}
	p.mu.Lock()
	f.key = len(p.followers)
	p.followers = append(p.followers, f)
	p.mu.Unlock()
	p.Eval("("+followScript+")("+strconv.Itoa(f.key)+", "+quote(url)+")", nil)
	return f
}

// take hands on what a page told.
func (p *Page) take(call runtime.EventBindingCalled) {
	var told struct {
		Key int
		Signal
	}
	if call.Name != binding {
		return
	}
	if err := json.Unmarshal([]byte(call.Payload), &told); err != nil {
		p.t.Errorf("a page tells %s: %v", call.Payload, err)
		return
	}
	p.mu.Lock()
	f := p.followers[told.Key]
	p.mu.Unlock()
	f.tell(func() { f.signals = append(f.signals, told.Signal) })
}

// quote writes text as JavaScript does.
func quote(text string) string {
	quoted, _ := json.Marshal(text) // text always has a form in JSON
	return string(quoted)
}
