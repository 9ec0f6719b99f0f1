package production

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/client"
	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// proxy is a reverse proxy that the tests reach by HTTPS.
type proxy struct {
	*program
	url  string
	http *http.Client
}

// certificate makes one for 127.0.0.1 and writes it where both kinds of users
// can read it.
func certificate(t *testing.T, dir string) (certFile, keyFile string, trusting *http.Client) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return put(t, dir, "cert.pem", string(certPEM)), put(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))),
		&http.Client{Transport: transport}
}

// startNginx starts nginx on a configuration that is written for an address;
// one that somebody else has taken meanwhile is given up for another.
func startNginx(t *testing.T, dir string, configure func(address string) string) *proxy {
	t.Helper()
	path := find(t, "nginx", "nginx-light")
	return startProxy(t, configure, func(text string) *program {
		config := put(t, dir, "nginx.conf", text)
		return begin(t, dir, path, "-p", dir, "-c", config, "-e", "stderr", "-g", "daemon off;")
	})
}

func startProxy(t *testing.T, configure func(address string) string, run func(text string) *program) *proxy {
	t.Helper()
	for range 5 {
		address := servertest.FreeAddress(t)
		p := run(configure(address))
		if p.until(t, func() bool { return answers("tcp", address) }) {
			return &proxy{program: p, url: address}
		}
		if said := p.said(); !strings.Contains(said, "in use") {
			t.Fatalf("%s ended:\n%s", p.name, said)
		}
	}
	t.Fatal("every free address was taken by somebody else")
	return nil
}

// temporary has nginx keep all it writes in its own folder.
func temporary(dir string) string {
	var b strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		b.WriteString(kind + "_temp_path " + filepath.Join(dir, kind) + ";\n")
	}
	return b.String()
}

// two starts instances on one database.
func two(t *testing.T) [2]*instance {
	t.Helper()
	url := pgtest.Database(t)
	var both [2]*instance
	for i := range both {
		both[i] = serve(t, boot(servertest.FreeAddress(t), onPostgres(url, "")), items)
	}
	return both
}

// nginxOfThePage runs what the page shows for nginx before two instances.
func nginxOfThePage(t *testing.T, both [2]*instance) *proxy {
	t.Helper()
	dir := pgtest.Folder(t)
	cert, key, trusting := certificate(t, dir)
	p := startNginx(t, dir, func(address string) string {
		shown := replace(t, snippet(t, "nginx", "upstream rowcast"),
			"10.0.0.11:8080", both[0].address(), "10.0.0.12:8080", both[1].address(), "listen 443 ", "listen "+address+" ",
			"/etc/ssl/api.example.com.pem", cert, "/etc/ssl/api.example.com.key", key)
		return "pid " + dir + "/pid;\nevents { worker_connections 1000; }\nhttp {\naccess_log off;\n" + temporary(dir) + shown + "}\n"
	})
	p.url, p.http = "https://"+p.url, trusting
	return p
}

// caddyOfThePage runs what the page shows for Caddy before two instances.
func caddyOfThePage(t *testing.T, both [2]*instance) *proxy {
	t.Helper()
	dir := pgtest.Folder(t)
	cert, key, trusting := certificate(t, dir)
	p := startProxy(t, func(address string) string {
		return "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n" + replace(t, snippet(t, "caddyfile", "reverse_proxy"),
			"10.0.0.11:8080", both[0].address(), "10.0.0.12:8080", both[1].address(),
			"api.example.com {", "https://"+address+" {\n\ttls "+cert+" "+key)
	}, func(text string) *program {
		config := put(t, dir, "Caddyfile", text)
		return begin(t, dir, find(t, "caddy", "caddy"), "run", "--adapter", "caddyfile", "--config", config)
	})
	p.url, p.http = "https://"+p.url, trusting
	return p
}

// A stream behind a proxy is HTTP/2 to its client, comes frame by frame, and
// goes on whichever instance ends, and however.
func TestReverseProxy(t *testing.T) {
	for name, start := range map[string]func(*testing.T, [2]*instance) *proxy{"nginx": nginxOfThePage, "Caddy": caddyOfThePage} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both := two(t)
			p := start(t, both)
			t.Run("a frame comes while the stream is open", p.unbuffered)
			t.Run("a page of the same origin may write", p.sameOrigin)
			t.Run("a stream outlives the instances", func(t *testing.T) { p.outlive(t, both) })
		})
	}
}

func (p *proxy) unbuffered(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/subscribe/item?heartbeat=5m", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token(t, "ann"))
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := p.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Encoding") != "" {
		t.Fatalf("the stream is %s %s, %v", resp.Proto, resp.Status, resp.Header)
	}
	lines := bufio.NewScanner(resp.Body)
	until(t, lines, "id: ~") // nothing but frames comes from here on
	create(t, newClient(t, p.url, p.http), "unbuffered")
	until(t, lines, `"subject":"unbuffered"`)
}

// until reads up to a line that contains a text. The connection stays open.
func until(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	t.Fatalf("the stream ended before %q: %v", text, lines.Err())
}

// sameOrigin writes with the cookie, as a page does. The server compares the
// page's origin with the host that the proxy names.
func (p *proxy) sameOrigin(t *testing.T) {
	for origin, want := range map[string]int{p.url: http.StatusCreated, "https://elsewhere.example": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/data/item", strings.NewReader(`{"id":"by cookie"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", origin)
		req.AddCookie(&http.Cookie{Name: "rowcast_session", Value: token(t, "ann")})
		resp, err := p.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("a page of %s is answered %s, want %d", origin, resp.Status, want)
		}
	}
}

// outlive ends each instance in turn, one with notice and one without, and at
// last both at once.
func (p *proxy) outlive(t *testing.T, both [2]*instance) {
	c := newClient(t, p.url, p.http)
	stream := follow(t, c, client.Subscription{})
	holder := func() int {
		for i, s := range both {
			if s.cmd != nil && strings.Contains(s.metrics(t), "rowcast_subscribers{datastore=\"main\",tenant=\"main\"} 1\n") {
				return i
			}
		}
		return -1
	}
	eventually(t, "one instance holds the stream", func() bool { return holder() >= 0 })
	n := 0
	create(t, c, "begin")
	stream.from("begin")
	write := func() {
		t.Helper()
		id := fmt.Sprint("row ", n)
		n++
		// A write whose instance is gone is answered by the other, or not at all.
		eventually(t, "a write is taken", func() bool {
			_, err := c.Create(t.Context(), "item", map[string]any{"id": id})
			return err == nil
		})
		stream.sees(id)
	}
	write()
	for _, end := range []func(*instance){(*instance).stop, (*instance).kill} {
		i := holder()
		end(both[i])
		write()
		eventually(t, "the other instance holds the stream", func() bool { return holder() == 1-i })
		if err := both[i].start(); err != nil {
			t.Fatal(err)
		}
	}
	both[0].stop()
	both[1].stop()
	p.nobodyIsThere(t)
	if err := both[0].start(); err != nil {
		t.Fatal(err)
	}
	write()
}

// nobodyIsThere opens a stream where no instance answers: an EventSource would
// never try again after a 502.
func (p *proxy) nobodyIsThere(t *testing.T) {
	said := get(t, p.http, p.url+"/subscribe/item", "", http.StatusOK)
	if !strings.HasPrefix(said, "retry: 5000\n: no instance answers, reconnect\n\n") {
		t.Errorf("a stream that no instance serves is answered %q", said)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/data/item", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusBadGateway && resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a read that no instance serves is answered %s", resp.Status)
	}
}
