package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/hub"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqlite"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/schema"
)

const bells = `
entities:
  - name: bell
    fields:
      - {name: id, type: ulid}
      - {name: n, type: int}
      - {name: text, type: string}
    events:
      - {name: changed}
    subscriptions:
      - {name: rows, rls: true}
  - name: chime
    fields:
      - {name: id, type: string}
      - {name: n, type: int}
      - {name: text, type: string}
    events:
      - {name: changed}
    subscriptions:
      - {name: rows, rls: true}
    realtime: {filterable: true}
`

var ann = &access.Principal{ID: "ann", Tenant: "t"}

// disk is a store that can be made to fail, or to be slow, at reading.
type disk struct {
	store.Store
	down  atomic.Bool
	delay atomic.Int64 // nanoseconds before each view
}

func (d *disk) View(ctx context.Context, fn func(store.Reader) error) error {
	if wait := time.Duration(d.delay.Load()); wait > 0 {
		<-time.After(wait)
	}
	if d.down.Load() {
		return fmt.Errorf("%w: the disk is away", store.ErrUnavailable)
	}
	return d.Store.View(ctx, fn)
}

// world is one unit's streams on a real SQLite file behind net/http, all in a
// bubble of synthetic time.
type world struct {
	t     *testing.T
	path  string
	model *schema.Model
	n     int    // bells rung
	text  string // of the next ones

	limit  *Limit
	disk   *disk
	engine *engine.Engine
	tail   *tail.Tail
	hub    *hub.Hub
	server *Server

	pipes   *pipes
	http    *http.Server
	client  *http.Client
	halt    context.CancelFunc
	running errgroup.Group
}

// inWorld runs a test in a bubble. What it started must have ended when it ends.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.db")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, path)
		w.start()
		defer w.stop() // also of a test that fails: what runs would run for ever
		test(t, w)
	})
}

func newWorld(t *testing.T, path string) *world {
	t.Helper()
	model, refusals := schema.Parse([]schema.Source{{Name: "bells.yaml", Data: []byte(bells)}})
	if len(refusals) > 0 {
		t.Fatal(refusals)
	}
	return &world{t: t, path: path, model: model, limit: &Limit{}}
}

// start opens the file and serves; the tail is running.
func (w *world) start() {
	w.t.Helper()
	w.open()
	w.follow()
	<-w.tail.Ready()
}

// open prepares everything but the tail, which follow starts.
func (w *world) open() {
	w.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	w.hub = hub.New(nil)
	w.tail = tail.New(tail.Config{Entities: w.entities(), Sink: w.hub.Publish, Logger: quiet})
	file, err := sqlite.Open(w.t.Context(), sqlite.Config{Path: w.path, Committed: w.tail.Offer, Logger: quiet})
	w.must(err)
	_, err = file.Migrate(w.t.Context(), store.Plan{Entities: w.model.Entities})
	w.must(err)
	w.disk = &disk{Store: file}
	w.tail.Follow(w.disk)
	secret, err := file.Secret(w.t.Context(), "bookmarks")
	w.must(err)
	w.engine, err = engine.New(engine.Config{
		Tenant: "t", Origin: "here", Model: w.model, Policies: w.policies(), Store: w.disk,
		NewID: event.NewSource(nil).Next, Secret: secret, Logger: quiet,
	})
	w.must(err)
	w.server, err = New(Config{
		Tenant: "t", Model: w.model, Entities: w.model.Entities, Engine: w.engine, Store: w.disk,
		Tail: w.tail, Hub: w.hub, Secret: secret, Limit: w.limit, Logger: quiet,
	})
	w.must(err)
	w.listen()
}

func (w *world) listen() {
	w.pipes = &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	w.http = &http.Server{Handler: http.HandlerFunc(w.subscribe)}
	w.client = &http.Client{Transport: &http.Transport{DialContext: w.pipes.dial, DisableCompression: true}}
	w.running = errgroup.Group{}
	w.running.Go(func() error { _ = w.http.Serve(w.pipes); return nil })
	ctx, halt := context.WithCancel(context.WithoutCancel(w.t.Context()))
	w.halt = halt
	w.running.Go(func() error { return w.hub.Run(ctx) })
}

func (w *world) follow() {
	ctx, halt := context.WithCancel(context.WithoutCancel(w.t.Context()))
	before := w.halt
	w.halt = func() { halt(); before() }
	w.running.Go(func() error { return w.tail.Run(ctx) })
}

// stop ends everything as a server does: streams, requests, work, file. At its
// end no stream and no place is left.
func (w *world) stop() {
	w.t.Helper()
	if w.halt == nil {
		return
	}
	halt := w.halt
	w.halt = nil
	w.hub.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), 20*time.Second)
	defer cancel()
	if err := w.http.Shutdown(ctx); err != nil {
		w.t.Errorf("requests do not end: %v", err)
	}
	w.client.CloseIdleConnections()
	if c := w.hub.Counters(); c.Subscribers != 0 || c.Topics != 0 {
		w.t.Errorf("%d subscribers of %d topics are left", c.Subscribers, c.Topics)
	}
	if w.limit.total != 0 || len(w.limit.by) != 0 {
		w.t.Errorf("%d places are still taken", w.limit.total)
	}
	halt()
	w.must(errors.Join(w.running.Wait(), w.disk.Close()))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) entities() map[string]*schema.Entity {
	all := map[string]*schema.Entity{}
	for _, e := range w.model.Entities {
		all[e.Name] = e
	}
	return all
}

func (w *world) policies() map[string]*access.Policy {
	all := map[string]*access.Policy{}
	for _, e := range w.model.Entities {
		p, refusals := access.Compile(e)
		if len(refusals) > 0 {
			w.t.Fatal(refusals)
		}
		all[e.Name] = p
	}
	return all
}

// subscribe opens a stream for whom X-Caller names, whose credential lives for X-Expires.
func (w *world) subscribe(rw http.ResponseWriter, r *http.Request) {
	pr := ann
	if id := r.Header.Get("X-Caller"); id != "" {
		pr = &access.Principal{ID: id, Tenant: "t"}
	}
	if text := r.Header.Get("X-Expires"); text != "" {
		left, _ := time.ParseDuration(text)
		pr = &access.Principal{ID: pr.ID, Tenant: "t", Expires: time.Now().Add(left)}
	}
	opened, err := w.judge(r, pr)
	if err == nil {
		err = opened.Serve(rw, r)
	}
	if f, ok := fault.Of(err); ok {
		http.Error(rw, string(f.Code), http.StatusTeapot)
	}
}

// judge opens what the path names: /subscribe/ENTITY, or a channel.
func (w *world) judge(r *http.Request, pr *access.Principal) (*Stream, error) {
	raw, last := r.URL.RawQuery, r.Header.Get("Last-Event-ID")
	if entity, ok := strings.CutPrefix(r.URL.Path, "/subscribe/"); ok {
		return w.server.Open(r.Context(), Request{Principal: pr, Entity: entity, RawQuery: raw, LastEventID: last})
	}
	channel, err := ChannelOf(raw, func(entity string) bool { _, ok := w.model.Entity(entity); return ok })
	if err != nil {
		return nil, err
	}
	return w.server.OpenChannel(r.Context(), ChannelRequest{Principal: pr, Channel: channel, RawQuery: raw, LastEventID: last})
}

// ring writes n bells, numbered on from the last.
func (w *world) ring(n int) {
	w.t.Helper()
	for range n {
		w.n++
		w.create("bell", fmt.Sprintf(`{"n":%d,"text":%q}`, w.n, w.text))
	}
}

// chime writes n chimes, numbered on from the last, whose ids are c1, c2 and so on.
func (w *world) chime(n int) {
	w.t.Helper()
	for range n {
		w.n++
		w.create("chime", fmt.Sprintf(`{"id":"c%d","n":%d,"text":%q}`, w.n, w.n, w.text))
	}
}

func (w *world) create(entity, row string) {
	w.t.Helper()
	g, err := w.engine.Grant(ann, entity, access.Create)
	w.must(err)
	b, err := engine.DecodeBody([]byte(row))
	w.must(err)
	_, err = w.engine.Create(w.t.Context(), g, b, engine.Options{})
	w.must(err)
}

// prune removes the log up to now.
func (w *world) prune() {
	w.t.Helper()
	_, err := w.disk.Prune(w.t.Context(), time.Now().Add(time.Millisecond), 1<<20)
	w.must(err)
}

// pipes is a network of net.Pipe: in a bubble only that counts as idle.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
