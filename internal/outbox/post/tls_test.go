package post

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newAuthority(t testing.TB) authority {
	t.Helper()
	key := newKey(t)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert: cert, key: key}
}

func (a authority) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// sign returns a certificate for 127.0.0.1 as change makes it.
func (a authority) sign(t testing.TB, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key := newKey(t)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "receiver"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(form)
	der, err := x509.CreateCertificate(rand.Reader, form, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func sound(*x509.Certificate) {}

// TestCertificates: a receiver is believed to be the target only under a
// certificate that the roots vouch for, now and for that name; all else is
// retried, and the error says what is wrong with it.
func TestCertificates(t *testing.T) {
	vouched := newAuthority(t)
	for _, c := range []struct {
		name  string
		by    authority
		roots *x509.CertPool
		form  func(*x509.Certificate)
		want  want
	}{
		{"of an authority among the roots", vouched, vouched.roots(), sound, accepted},
		{"of an unknown authority", newAuthority(t), vouched.roots(), sound, retried("TLS: the certificate is signed by an unknown authority")},
		{"of an authority that the system does not know", vouched, nil, sound, retried("TLS: the certificate is signed by an unknown authority")},
		{"expired", vouched, vouched.roots(), func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2020, 2, 1, 0, 0, 0, 0, time.UTC)
		}, retried("TLS: the certificate is valid from 2020-01-01 to 2020-02-01 only")},
		{"not valid yet", vouched, vouched.roots(), func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Date(2190, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2191, 1, 1, 0, 0, 0, 0, time.UTC)
		}, retried("TLS: the certificate is valid from 2190-01-01 to 2191-01-01 only")},
		{"of another name", vouched, vouched.roots(), func(c *x509.Certificate) {
			c.IPAddresses, c.DNSNames = nil, []string{"other.example"}
		}, retried("TLS: the certificate is not for 127.0.0.1, it is for other.example")},
		{"for another purpose", vouched, vouched.roots(), func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		}, retried("TLS: x509: certificate specifies an incompatible key usage")},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := secure(listen(t), c.by.sign(t, c.form))
			r := receive(t, l, answering(ok))
			p := poster(t, Target{URL: "https://" + l.Addr().String(), Timeout: generous, Roots: c.roots}, Config{})
			c.want.check(t, post(t, p))
			if c.want.class == Accepted {
				c.want.check(t, post(t, p))
				if n := r.conns.Load(); n != 1 {
					t.Errorf("two attempts took %d connections, want the first kept", n)
				}
			}
		})
	}
}

// TestOneSpeaksTLSAndTheOtherDoesNot: told apart from an outage.
func TestOneSpeaksTLSAndTheOtherDoesNot(t *testing.T) {
	vouched := newAuthority(t)
	t.Run("https at a plain port", func(t *testing.T) {
		r := receive(t, listen(t), func(p *peer) {
			_, _ = p.in.ReadString('\n')
			_ = p.say("HTTP/1.1 400 Bad Request\r\n\r\n")
		})
		p := poster(t, Target{URL: "https://" + r.Addr().String(), Timeout: generous}, Config{})
		retried("TLS: the receiver does not speak it; is it a plain http port?").check(t, post(t, p))
	})
	t.Run("http at a port that speaks TLS", func(t *testing.T) {
		r := receive(t, listen(t), once("\x15\x03\x01\x00\x02\x02\x16", closes)) // an alert
		p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{})
		retried("no valid HTTP/1.x; does the port speak TLS?").check(t, post(t, p))
	})
	t.Run("http at a port that speaks TLS, and closes", func(t *testing.T) {
		r := receive(t, secure(listen(t), vouched.sign(t, sound)), answering(ok))
		p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{})
		retried("").check(t, post(t, p))
	})
	t.Run("https at a port that closes", func(t *testing.T) {
		r := receive(t, listen(t), func(p *peer) { _, _ = p.in.ReadByte() })
		p := poster(t, Target{URL: "https://" + r.Addr().String(), Timeout: generous}, Config{})
		retried("TLS: the connection was closed in the handshake").check(t, post(t, p))
	})
	t.Run("https at a port that says nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := New(Target{URL: "https://receiver.test"}, Config{Dial: pipes(waits)})
			defer p.Close()
			retried("timeout after 10s while in the TLS handshake").check(t, p.Post(t.Context(), delivery("{}")))
		})
	})
	t.Run("a receiver that wants a certificate of the sender", func(t *testing.T) {
		l := tls.NewListener(listen(t), &tls.Config{
			Certificates: []tls.Certificate{vouched.sign(t, sound)}, ClientAuth: tls.RequireAnyClientCert,
		})
		r := receive(t, l, answering(ok))
		p := poster(t, Target{URL: "https://" + r.Addr().String(), Timeout: generous, Roots: vouched.roots()}, Config{})
		retried("TLS: the receiver refuses: tls: certificate required").check(t, post(t, p))
	})
	t.Run("a receiver of another protocol", func(t *testing.T) {
		l := tls.NewListener(listen(t), &tls.Config{
			Certificates: []tls.Certificate{vouched.sign(t, sound)}, NextProtos: []string{"mqtt"},
		})
		r := receive(t, l, answering(ok))
		p := poster(t, Target{URL: "https://" + r.Addr().String(), Timeout: generous, Roots: vouched.roots()}, Config{})
		retried("TLS: the receiver refuses: tls: no application protocol").check(t, post(t, p))
	})
}

// TestSecretsGoThroughTLSAlone: the head and body of a delivery over https never
// are on the wire in the clear.
func TestSecretsGoThroughTLSAlone(t *testing.T) {
	vouched := newAuthority(t)
	back := receive(t, secure(listen(t), vouched.sign(t, sound)), answering(ok))
	seen := make(chan string, 1)
	front := receive(t, listen(t), func(p *peer) {
		to, err := net.Dial("tcp", back.Addr().String())
		if err != nil {
			return
		}
		defer func() { _ = to.Close() }()
		var wire strings.Builder
		go func() { _, _ = io.Copy(p.Conn, to) }()
		_, _ = io.Copy(io.MultiWriter(&wire, to), p.in)
		seen <- wire.String()
	})
	p := poster(t, Target{URL: "https://" + front.Addr().String(), Timeout: generous, Roots: vouched.roots()}, Config{Idle: -1})
	accepted.check(t, postBody(t, p, `{"id":"in the clear"}`))
	if wire := <-seen; strings.Contains(wire, "clear") || strings.Contains(strings.ToLower(wire), "kisai") || wire == "" {
		t.Errorf("on the wire: %q", wire)
	}
}
