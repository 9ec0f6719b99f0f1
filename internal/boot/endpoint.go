package boot

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rowcast/rowcast/internal/document"
)

// targetURL reads where a target is. No message repeats the URL, which may be
// all that a receiver is guarded by.
func (l *loader) targetURL(node *document.Node) string {
	text, ok := node.Text(&l.refusals)
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil {
		l.refusals.Add(node.Refusal("the URL of a target cannot be read; write one such as https://receiver.example/hooks"))
		return ""
	}
	if wrong := wrongEndpoint(u, text); wrong != "" {
		l.refusals.Add(node.Refusal("%s", wrong))
		return ""
	}
	if u.Scheme == "http" && !isLoopback(net.JoinHostPort(u.Hostname(), "0")) {
		l.doc.Warnings.Add(node.Refusal("deliveries travel without TLS: whoever is on the way can read them; use https"))
	}
	return text
}

// wrongEndpoint says why nothing can be posted to the URL, or "".
func wrongEndpoint(u *url.URL, text string) string {
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "the URL of a target must begin with http:// or https://"
	case u.Hostname() == "":
		return "the URL of a target names no host; write one such as https://receiver.example/hooks"
	case u.User != nil:
		return `the URL of a target holds credentials; take them out and send them with headers: {Authorization: "${NAME}"}`
	case strings.Contains(text, "#"):
		return "the URL of a target ends in a fragment, which is never sent; remove # and what follows"
	case u.Port() != "" && (err != nil || port == 0):
		return "the URL of a target has no usable port; write one from 1 to 65535, or none"
	case linkLocal(u.Hostname()):
		return "the URL of a target is a link-local address, to which nothing is ever sent; name the receiver by another address"
	}
	return ""
}

func linkLocal(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast())
}

// The headers that are rowcast's own to set, or the connection's.
var (
	ownHeaders = []string{
		"Host", "Content-Type", "Content-Length", "Content-Encoding", "Connection", "Keep-Alive", "Proxy-Authenticate",
		"Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
	}
	ownPrefixes = []string{"X-Kisai-", "Webhook-"}
)

func (l *loader) targetHeaders(node *document.Node) http.Header {
	headers := http.Header{}
	for _, member := range node.Members(&l.refusals) {
		name := http.CanonicalHeaderKey(member.Key.Raw())
		own := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		switch {
		case !isToken(name):
			l.refusals.Add(member.Key.Refusal("not the name of a header; use letters, digits and -"))
		case slices.Contains(ownHeaders, name) || slices.ContainsFunc(ownPrefixes, own):
			l.refusals.Add(member.Key.Refusal("the header %s is set by rowcast or by the connection; remove it", name))
		case headers[name] != nil:
			l.refusals.Add(member.Key.Refusal("the header %s is given twice; keep one", name))
		}
		value, ok := member.Value.Text(&l.refusals)
		if ok && !isHeaderValue(value) {
			l.refusals.Add(member.Value.Refusal("not the value of a header; it may hold no line breaks or other control characters, and no blank at an end"))
		}
		headers[name] = []string{value}
	}
	return headers
}

// isToken reports whether the text is one word of HTTP, such as a header's name.
func isToken(text string) bool {
	notToken := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }
	return text != "" && !strings.ContainsFunc(text, notToken)
}

func isHeaderValue(text string) bool {
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	return !strings.ContainsFunc(text, control) && strings.Trim(text, " \t") == text
}

// targetRoots reads who may vouch for a receiver.
func (l *loader) targetRoots(node *document.Node, endpoint string) *x509.CertPool {
	file, ok := node.Text(&l.refusals)
	if !ok {
		return nil
	}
	if strings.HasPrefix(strings.ToLower(endpoint), "http:") {
		l.refusals.Add(node.Refusal("ca goes with https; remove the key, or write https:// in url"))
		return nil
	}
	data, err := os.ReadFile(l.resolve(file))
	if err != nil {
		l.refusals.Add(node.Refusal("ca cannot be read: %s; name a file of certificates in PEM, relative to this document", reason(err)))
		return nil
	}
	pool, err := certificates(data)
	if err != nil {
		l.refusals.Add(node.Refusal("ca cannot be used: %s; name a file of certificates in PEM", err))
	}
	return pool
}

// certificates reads all certificates of a file. One that cannot be read is an
// error: without it a receiver would not be trusted, and nobody would know why.
func certificates(data []byte) (*x509.CertPool, error) {
	pool, found := x509.NewCertPool(), false
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("it holds a certificate that cannot be read")
		}
		pool.AddCert(cert)
		found = true
	}
	if !found {
		return nil, errors.New("it holds no certificate")
	}
	return pool, nil
}
