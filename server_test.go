package rowcast_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast"
)

const (
	apiKey = "a-key-for-tests-alone-of-32-bytes!"

	bellSchema = `
entities:
  - name: bell
    fields: [{name: id, type: string}, {name: n, type: int}]
    events: [{name: changed}]
    subscriptions: [{name: rings}]
`
	bellBoot = `
listen: 127.0.0.1:0
auth:
  keys: [{id: ann, key: "` + apiKey + `", tenant: "a:b:c:d"}]
tenants:
  "a:b:c:d":
    schema: ./schema.yaml
    datastores:
      main: {driver: sqlite, path: ./data/t.db}
`
)

// site writes a boot document and a schema and returns what opens it.
func site(t *testing.T, boot, schema string) rowcast.Config {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"rowcast.yaml": boot, "schema.yaml": schema} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return rowcast.Config{File: filepath.Join(dir, "rowcast.yaml"), Logger: slog.New(slog.DiscardHandler)}
}

func opened(t *testing.T, c rowcast.Config) *rowcast.Server {
	t.Helper()
	s, err := rowcast.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// free proves that nothing of a site is held: it opens at once, and closes.
func free(t *testing.T, c rowcast.Config) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // less than the wait for another's lock
	defer cancel()
	s, err := rowcast.Open(ctx, c)
	if err != nil {
		t.Fatalf("the site is still held: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// background runs what lives until its context is done, and returns how to end
// it and what it returned.
func background(t *testing.T, run func(context.Context) error) (stop func(), done <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(cancel)
	return cancel, ended
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func closed(t *testing.T, l net.Listener) {
	t.Helper()
	if err := l.(*net.TCPListener).SetDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is still open: %v", err)
	}
}

// request is one by the holder of the key.
func request(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+apiKey)
	if body != nil && body != http.NoBody {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// send sends a request on a connection of its own and returns status and body.
func send(t *testing.T, r *http.Request) (status int, body string) {
	t.Helper()
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// A site that cannot be served is refused with place and reason, and nothing of
// it stays open, also where another tenant's datastore was open by then.
func TestOpenRefusesAndLeavesNothing(t *testing.T) {
	twoTenants := bellBoot + `
  "e:f:g:h":
    schema: ./schema.yaml
    datastores:
      main: {driver: sqlite, path: ./schema.yaml}
`
	for name, c := range map[string]struct {
		boot, schema, says string
	}{
		"an unknown key":                   {bellBoot + "nosuchkey: 1\n", bellSchema, "rowcast.yaml:"},
		"no document":                      {"", bellSchema, "rowcast.yaml"},
		"an unknown type":                  {bellBoot, strings.Replace(bellSchema, "type: int", "type: nosuch", 1), "schema.yaml:"},
		"a misspelt name in a filter":      {bellBoot, strings.Replace(bellSchema, "{name: rings}", "{name: rings, filter: {language: expr, expression: payload.m > 1}}", 1), "schema.yaml:"},
		"a datastore that is another file": {twoTenants, bellSchema, "datastore main of tenant e:f:g:h"},
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			config := site(t, c.boot, c.schema)
			s, err := rowcast.Open(t.Context(), config)
			if err == nil || s != nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("Open returned %v, %v; want a refusal that says %q", s, err, c.says)
			}
			goleak.VerifyNone(t, before)
		})
	}
}

// A document that is not there is refused by name.
func TestOpenWithoutAFile(t *testing.T) {
	_, err := rowcast.Open(t.Context(), rowcast.Config{File: filepath.Join(t.TempDir(), "none.yaml"), Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v", err)
	}
}

// A server that was opened and never run holds its datastores until it is closed.
func TestOpenAndClose(t *testing.T) {
	before := goleak.IgnoreCurrent()
	c := site(t, bellBoot, bellSchema)
	s := opened(t, c)
	impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if second, err := rowcast.Open(impatient, c); err == nil {
		_ = second.Close()
		t.Error("a file was opened twice")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	free(t, c)
	goleak.VerifyNone(t, before)
}

// Run and Handler are all that an embedding program needs: the handler serves
// under its own server, and a stop ends streams in-band, says so to probes, and
// leaves nothing.
func TestRunWithoutServe(t *testing.T) {
	before := goleak.IgnoreCurrent()
	c := site(t, bellBoot, bellSchema)
	s := opened(t, c)
	stop, done := background(t, s.Run)
	<-s.Ready()
	host := httptest.NewServer(s.Handler())
	defer host.Close()
	if status, body := send(t, request(t, "POST", host.URL+"/data/bell", strings.NewReader(`{"id":"x"}`))); status != http.StatusCreated {
		t.Fatalf("a write is answered %d %s", status, body)
	}
	stream, err := http.DefaultClient.Do(request(t, "GET", host.URL+"/subscribe/bell", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Body.Close() }()
	if n := len(s.Subscribers()); n != 1 {
		t.Errorf("%d subscribers, want 1", n)
	}
	stop()
	rest, err := io.ReadAll(stream.Body)
	if err != nil || !strings.HasSuffix(string(rest), ": closing, reconnect\n\n") {
		t.Errorf("the stream ends with %q, %v", rest, err)
	}
	if err := <-done; err != nil {
		t.Errorf("Run returned %v", err)
	}
	if status, body := send(t, request(t, "GET", host.URL+"/readyz", nil)); status != http.StatusServiceUnavailable || !strings.Contains(body, "stopping") {
		t.Errorf("/readyz answers %d %s", status, body)
	}
	host.Close()
	http.DefaultClient.CloseIdleConnections()
	free(t, c)
	goleak.VerifyNone(t, before)
}

// Serve on a port that is taken, or with a certificate that cannot be read,
// fails and closes everything: files, and the listener it was given.
func TestServeThatCannotListen(t *testing.T) {
	taken := listen(t)
	defer func() { _ = taken.Close() }()
	port := taken.Addr().String()
	for name, c := range map[string]struct {
		boot string
		give bool // a listener of the caller's
	}{
		"listen is taken":       {strings.Replace(bellBoot, "127.0.0.1:0", port, 1), false},
		"admin.listen is taken": {bellBoot + "admin: {listen: " + port + "}\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			config := site(t, c.boot, bellSchema)
			var l net.Listener
			if c.give {
				l = listen(t)
			}
			if err := opened(t, config).Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "in use") {
				t.Errorf("Serve returned %v", err)
			}
			if l != nil {
				closed(t, l)
			}
			free(t, config)
			goleak.VerifyNone(t, before)
		})
	}
}

// A certificate that goes bad between boot and serving ends the server, and
// everything with it.
func TestServeWithACertificateThatCannotBeRead(t *testing.T) {
	before := goleak.IgnoreCurrent()
	tlsSite := httptest.NewTLSServer(http.NotFoundHandler())
	cert := tlsSite.TLS.Certificates[0]
	tlsSite.Close()
	config := site(t, bellBoot+"tls: {cert: ./cert.pem, key: ./key.pem}\n", bellSchema)
	dir := filepath.Dir(config.File)
	writePair(t, dir, cert) // boot reads it too
	s := opened(t, config)
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	if err := s.Serve(t.Context(), l); err == nil {
		t.Error("Serve returned nil")
	}
	closed(t, l)
	writePair(t, dir, cert)
	free(t, config)
	goleak.VerifyNone(t, before)
}

// A request that is under way when the server is told to stop is finished, while
// admin.listen says that the server is stopping; then everything is closed.
func TestStoppingFinishesWhatIsUnderWay(t *testing.T) {
	before := goleak.IgnoreCurrent()
	private := listen(t)
	address := private.Addr().String()
	if err := private.Close(); err != nil {
		t.Fatal(err)
	}
	config := site(t, bellBoot+"admin: {listen: "+address+"}\n", bellSchema)
	s, l := opened(t, config), listen(t)
	stop, done := background(t, func(ctx context.Context) error { return s.Serve(ctx, l) })
	<-s.Ready()
	probe := "http://" + address + "/readyz"
	if status, body := send(t, request(t, "GET", probe, nil)); status != http.StatusOK {
		t.Fatalf("before: %d %s", status, body)
	}
	if status, body := send(t, request(t, "GET", "http://"+address+"/metrics", nil)); status != http.StatusOK || !strings.Contains(body, "rowcast_subscribers") {
		t.Errorf("/metrics on admin.listen answers %d, %d bytes", status, len(body))
	}
	body, write := io.Pipe()
	answer := make(chan string, 1)
	go func() {
		r := request(t, "POST", "http://"+l.Addr().String()+"/data/bell", body)
		r.Header.Set("Expect", "100-continue") // so that a byte is sent only when the server asks for it
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer func() { _ = resp.Body.Close() }()
		answer <- resp.Status
	}()
	if _, err := io.WriteString(write, `{"id":`); err != nil {
		t.Fatal(err)
	}
	stop()
	for {
		status, text := send(t, request(t, "GET", probe, nil))
		if status == http.StatusServiceUnavailable && strings.Contains(text, "stopping") {
			break
		}
	}
	select {
	case err := <-done:
		t.Fatalf("Serve returned %v with a request under way", err)
	default:
	}
	if _, err := io.WriteString(write, `"late"}`); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	if got := <-answer; got != "201 Created" {
		t.Errorf("the request is answered %s", got)
	}
	if err := <-done; err != nil {
		t.Errorf("Serve returned %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
	free(t, config)
	goleak.VerifyNone(t, before)
}

// Two servers live in one process without knowing of each other.
func TestTwoServersInOneProcess(t *testing.T) {
	before := goleak.IgnoreCurrent()
	type half struct {
		s    *rowcast.Server
		url  string
		stop func()
		done <-chan error
	}
	var halves []half
	for range 2 {
		s, l := opened(t, site(t, bellBoot, bellSchema)), listen(t)
		stop, done := background(t, func(ctx context.Context) error { return s.Serve(ctx, l) })
		<-s.Ready()
		halves = append(halves, half{s, "http://" + l.Addr().String(), stop, done})
	}
	if status, body := send(t, request(t, "POST", halves[0].url+"/data/bell", strings.NewReader(`{"id":"x"}`))); status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	for i, want := range []int{http.StatusOK, http.StatusNotFound} {
		if status, _ := send(t, request(t, "GET", halves[i].url+"/data/bell/x", nil)); status != want {
			t.Errorf("server %d answers %d, want %d", i, status, want)
		}
	}
	halves[0].stop()
	if err := <-halves[0].done; err != nil {
		t.Error(err)
	}
	if status, _ := send(t, request(t, "GET", halves[1].url+"/readyz", nil)); status != http.StatusOK {
		t.Errorf("with the other stopped, /readyz answers %d", status)
	}
	halves[1].stop()
	if err := <-halves[1].done; err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, before)
}

// writePair writes a certificate and its key as PEM.
func writePair(t *testing.T, dir string, cert tls.Certificate) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: cert.Certificate[0]}, "key.pem": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
