package production

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rowcast/rowcast/client"
	"github.com/rowcast/rowcast/internal/servertest"
)

// items is the schema of most tests here.
const items = `
entities:
  - name: item
    fields:
      - {name: id, type: string}
      - {name: n, type: int}
    events: [{name: changed}]
    subscriptions: [{name: all, rls: true}]
`

// boot returns a boot document with one tenant.
func boot(listen, datastore string) string {
	return "listen: " + listen + "\nauth:\n  jwt: [{secret: \"" + servertest.Secret + "\"}]\ntenants:\n  main:\n    schema: ./schema\n    datastores:\n      main: " + datastore + "\n"
}

// onPostgres returns a datastore; listen "" leaves listenurl out.
func onPostgres(url, listen string) string {
	if listen != "" {
		listen = `, listenurl: "` + listen + `"`
	}
	return `{driver: postgres, url: "` + url + `"` + listen + `, namespace: shop_t1}`
}

// instance is a rowcast in a process of its own.
type instance struct {
	dir, url string
	env      []string
	t        *testing.T
	cmd      *exec.Cmd
	drained  chan struct{}
}

// serve starts an instance; schema is a text or the path of a folder.
func serve(t *testing.T, document, schema string) *instance {
	t.Helper()
	s := prepare(t, document, schema)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	return s
}

func prepare(t *testing.T, document, schema string, env ...string) *instance {
	t.Helper()
	s := &instance{dir: t.TempDir(), env: env, t: t}
	put(t, s.dir, "rowcast.yaml", document)
	if filepath.IsAbs(schema) {
		if err := os.CopyFS(filepath.Join(s.dir, "schema"), os.DirFS(schema)); err != nil {
			t.Fatal(err)
		}
	} else {
		put(t, s.dir, "schema/schema.yaml", schema)
	}
	servertest.Binary(t)
	t.Cleanup(s.stop)
	return s
}

// start starts the process and waits until it is ready.
func (s *instance) start() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(servertest.Binary(s.t), "serve", "--config", "rowcast.yaml")
	cmd.Dir, cmd.Stderr, cmd.Env = s.dir, log, append(os.Environ(), s.env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, url, found := strings.Cut(lines.Text(), "listening on "); found {
			s.url, s.cmd, s.drained = url, cmd, make(chan struct{})
			go func() {
				defer close(s.drained)
				for lines.Scan() { // a full pipe would stop the server
				}
			}()
			return nil
		}
	}
	return fmt.Errorf("the server ended before it was ready: %w\n%s", cmd.Wait(), s.said())
}

// stop ends the process as an orchestrator does, and waits for it.
func (s *instance) stop() { s.end(syscall.SIGTERM) }

// kill ends the process as a crash does.
func (s *instance) kill() { s.end(syscall.SIGKILL) }

func (s *instance) end(signal syscall.Signal) {
	s.t.Helper()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(signal)
	timer := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	<-s.drained
	if err := s.cmd.Wait(); err != nil && signal == syscall.SIGTERM {
		s.t.Errorf("SIGTERM ended the server with %v:\n%s", err, s.said())
	}
	s.cmd = nil
}

// said is the log.
func (s *instance) said() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(text)
}

// address is HOST:PORT.
func (s *instance) address() string { return s.url[strings.Index(s.url, "//")+2:] }

func (s *instance) client() *client.Client { s.t.Helper(); return newClient(s.t, s.url, nil) }

func newClient(t *testing.T, url string, through *http.Client) *client.Client {
	t.Helper()
	return clientWith(t, url, token(t, "ann"), through)
}

func clientWith(t *testing.T, url, token string, through *http.Client) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{URL: url, Token: token, HTTPClient: through})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func token(t *testing.T, sub string, roles ...string) string {
	t.Helper()
	claims := jwt.MapClaims{"sub": sub, "tenant": "main", "roles": append([]string{}, roles...), "exp": time.Now().Add(time.Hour).Unix()}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(servertest.Secret))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// create writes an item.
func create(t *testing.T, c *client.Client, id string) {
	t.Helper()
	if _, err := c.Create(t.Context(), "item", map[string]any{"id": id, "n": 0}); err != nil {
		t.Fatal(err)
	}
}

// follower reads a stream that resumes by itself.
type follower struct {
	stream *client.Stream
	events chan client.Event
	stop   context.CancelFunc
	t      *testing.T
}

// follow opens a stream and returns once it is known to be open.
func follow(t *testing.T, c *client.Client, sub client.Subscription) *follower {
	t.Helper()
	if sub.Heartbeat = time.Second; sub.Entity == "" {
		sub.Entity = "item"
	}
	ctx, stop := context.WithCancel(t.Context())
	f := &follower{stream: c.Stream(sub), events: make(chan client.Event, 1<<14), stop: stop, t: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := f.stream.Run(ctx, func(e client.Event) error { f.events <- e; return nil })
		if ctx.Err() == nil {
			t.Errorf("the stream ended with %v", err)
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	if sub.LastEventID == "" {
		// The first heartbeat stands right behind the preamble.
		eventually(t, "the first heartbeat", func() bool { return f.stream.Position() != "" })
	}
	return f
}

func (f *follower) next() client.Event {
	f.t.Helper()
	select {
	case e := <-f.events:
		return e
	case <-time.After(patience):
		f.t.Fatal("nothing comes on the stream")
	}
	return client.Event{}
}

// sees wants the events of these rows, in order, and nothing else.
func (f *follower) sees(subjects ...string) {
	f.t.Helper()
	for _, want := range subjects {
		if e := f.next(); e.Subject != want {
			f.t.Fatalf("told of %s, want %s", e.Raw, want)
		}
	}
}

// from passes over what came before the event of a row. A stream begins where its
// instance has read to, which may be just before what another one has answered.
func (f *follower) from(subject string) {
	f.t.Helper()
	for seen := ""; seen != subject; {
		seen = f.next().Subject
	}
}

// quiet wants nothing to be waiting.
func (f *follower) quiet() {
	f.t.Helper()
	select {
	case e := <-f.events:
		f.t.Errorf("told of %s", e.Raw)
	default:
	}
}

func (f *follower) gap(reason string) {
	f.t.Helper()
	if e := f.next(); e.Gap == nil || e.Gap.Reason != reason {
		f.t.Fatalf("told of %s, want a gap, %s", e.Raw, reason)
	}
}

// metrics returns what a scrape of the tenant shows.
func (s *instance) metrics(t *testing.T) string {
	t.Helper()
	return get(t, http.DefaultClient, s.url+"/metrics", token(t, "root", "admin"), http.StatusOK)
}

// get returns the body of an answer, which must have this status.
func get(t *testing.T, c *http.Client, url, token string, status int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var text strings.Builder
	if _, err := bufio.NewReader(resp.Body).WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != status {
		t.Fatalf("GET %s: %s, want %d: %s", url, resp.Status, status, text.String())
	}
	return text.String()
}
