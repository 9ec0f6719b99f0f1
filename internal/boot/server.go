package boot

import (
	"crypto/tls"
	"log/slog"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rowcast/rowcast/internal/document"
)

// readListen reads listen and dev, which must agree.
func (l *loader) readListen(m document.Map) {
	l.doc.Listen = m.Text("listen", "127.0.0.1:8080")
	node := m.Get("listen")
	known := true
	if node != nil {
		known = l.address(node, l.doc.Listen)
	}
	l.doc.Dev = m.Bool("dev", false)
	if l.doc.Dev && known && !isLoopback(l.doc.Listen) {
		l.refusals.Add(m.Get("dev").Refusal("dev: true hands out tokens and is for this machine only; remove it, or listen on 127.0.0.1"))
	}
}

// address refuses what is no HOST:PORT.
func (l *loader) address(node *document.Node, text string) bool {
	if _, port, err := net.SplitHostPort(text); err == nil {
		if n, err := strconv.ParseUint(port, 10, 16); err == nil && strconv.FormatUint(n, 10) == port {
			return true
		}
	}
	l.refusals.Add(node.Refusal("not an address to listen on; write HOST:PORT, such as 127.0.0.1:8080, or :8080 for all interfaces"))
	return false
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (l *loader) readTLS(node *document.Node) {
	m := node.Map(&l.refusals, document.Shape{What: "tls", Keys: []string{"cert", "key"}})
	cert, key := m.Text("cert", ""), m.Text("key", "")
	if cert == "" && key == "" {
		return
	}
	if cert == "" || key == "" {
		l.refusals.Add(node.Refusal("tls needs both cert and key; give the other one, or neither for plain HTTP"))
		return
	}
	l.doc.TLS = TLS{Cert: l.resolve(cert), Key: l.resolve(key)}
	if _, err := tls.LoadX509KeyPair(l.doc.TLS.Cert, l.doc.TLS.Key); err != nil {
		l.refusals.Add(node.Refusal("the certificate and its key cannot be used: %v", err))
	}
}

func (l *loader) readLog(node *document.Node) {
	m := node.Map(&l.refusals, document.Shape{What: "log", Keys: []string{"level", "format"}})
	l.doc.Log = Log{Level: slog.LevelInfo, Format: "text"}
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	if level, ok := m.Get("level").OneOf(&l.refusals, "debug", "info", "warn", "error"); ok {
		l.doc.Log.Level = levels[level]
	}
	if format, ok := m.Get("format").OneOf(&l.refusals, "text", "json"); ok {
		l.doc.Log.Format = format
	}
}

func (l *loader) readLimits(node *document.Node) {
	m := node.Map(&l.refusals, document.Shape{What: "limits", Keys: []string{"body", "rows", "query", "streamsperprincipal", "streams"}})
	limits := Limits{Body: 1 << 20, Rows: 10_000, Query: 5 * time.Second, StreamsPerPrincipal: 100, Streams: 50_000}
	if n, ok := m.Get("body").Size(&l.refusals, 1, 1<<30); ok {
		limits.Body = n
	}
	if n, ok := m.Get("rows").Int(&l.refusals, 1, 1_000_000); ok {
		limits.Rows = int(n)
	}
	if d, ok := m.Get("query").Duration(&l.refusals, time.Millisecond, time.Hour); ok {
		limits.Query = d
	}
	if n, ok := m.Get("streamsperprincipal").Int(&l.refusals, 1, math.MaxInt32); ok {
		limits.StreamsPerPrincipal = int(n)
	}
	if n, ok := m.Get("streams").Int(&l.refusals, 1, math.MaxInt32); ok {
		limits.Streams = int(n)
	}
	l.doc.Limits = limits
}

func (l *loader) readCORS(node *document.Node) {
	m := node.Map(&l.refusals, document.Shape{What: "cors", Keys: []string{"origins"}})
	origins, nodes := m.Get("origins").Texts(&l.refusals)
	for i, origin := range origins {
		switch {
		case origin == "*" && l.doc.Auth.Cookie != "":
			l.refusals.Add(nodes[i].Refusal(`origins: ["*"] would let any page act with a visitor's cookie; name the origins, or set auth.cookie: ""`))
		case origin != "*" && !isOrigin(origin):
			l.refusals.Add(nodes[i].Refusal("not an origin; write scheme, host and port alone, such as https://app.example"))
		}
	}
	l.doc.CORS.Origins = origins
}

// isOrigin reports whether a browser could send the text as Origin.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.Scheme+"://"+u.Host == text && strings.ToLower(text) == text
}

func (l *loader) readAdmin(node *document.Node) {
	m := node.Map(&l.refusals, document.Shape{What: "admin", Keys: []string{"role", "listen"}})
	l.doc.Admin = Admin{Role: m.Text("role", "admin"), Listen: m.Text("listen", "")}
	if l.doc.Admin.Role == "" {
		l.refusals.Add(m.Get("role").Refusal("admin.role is empty; name the role of those who may use /admin"))
	}
	if l.doc.Admin.Listen == "" || !l.address(m.Get("listen"), l.doc.Admin.Listen) {
		return
	}
	if l.doc.Admin.Listen == l.doc.Listen && !strings.HasSuffix(l.doc.Listen, ":0") {
		l.refusals.Add(m.Get("listen").Refusal("admin.listen is the common address; give it a port of its own, or leave it out"))
	}
}
