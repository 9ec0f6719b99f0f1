package post

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// dialThrough dials as usual, and puts wrap around the connection.
func dialThrough(wrap func(net.Conn) net.Conn) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := guardedDial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return wrap(conn), nil
	}
}

// joining reads whole TLS records, and gives two of application data at once.
type joining struct {
	net.Conn
	ready bytes.Buffer
}

func (j *joining) Read(b []byte) (int, error) {
	for j.ready.Len() == 0 {
		record, err := j.record()
		if err != nil {
			return 0, err
		}
		j.ready.Write(record)
		if len(record) == answerRecord {
			if record, err = j.record(); err != nil {
				return 0, err
			}
			j.ready.Write(record)
		}
	}
	return j.ready.Read(b)
}

// answerRecord is the length of a TLS 1.3 record that holds ok: its head, the
// type and the tag around it.
const answerRecord = 5 + len(ok) + 1 + 16

func (j *joining) record() ([]byte, error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(j.Conn, head); err != nil {
		return nil, err
	}
	body := make([]byte, int(head[3])<<8|int(head[4]))
	_, err := io.ReadFull(j.Conn, body)
	return bytes.Join([][]byte{head, body}, nil), err
}

// TestAddressesThatNoTargetHas: refused in each spelling; private ones are the
// operator's own choice.
func TestAddressesThatNoTargetHas(t *testing.T) {
	for text, refused := range map[string]bool{
		"169.254.169.254":          true, // metadata of most clouds
		"169.254.0.1":              true,
		"169.254.170.2":            true,
		"::ffff:169.254.169.254":   true,
		"64:ff9b::169.254.169.254": true,
		"64:ff9b::a9fe:a9fe":       true,
		"2002:a9fe:a9fe::":         true,
		"2002:a9fe:a9fe::1":        true,
		"::169.254.169.254":        true,
		"fe80::1":                  true,
		"fe80::1%lo":               true,
		"fe80::a9fe:a9fe":          true,
		"febf::1":                  true,
		"fd00:ec2::254":            true,
		"fd00:ec2::254%lo":         true,
		"fd20:ce::254":             true,
		"fd00:42::42":              true,
		"100.100.100.200":          true,
		"::ffff:100.100.100.200":   true,
		"64:ff9b::100.100.100.200": true,
		"168.63.129.16":            true,
		"192.0.0.192":              true,
		"0.0.0.0":                  true,
		"0.1.2.3":                  true,
		"::":                       true,
		"::ffff:0.0.0.0":           true,
		"64:ff9b::":                true,
		"224.0.0.1":                true,
		"239.255.255.250":          true,
		"ff02::1":                  true,
		"ff0e::1":                  true,
		"255.255.255.255":          true,
		"240.0.0.1":                true,
		"fec0::1":                  true,
		"2001:0:a9fe:a9fe::1":      true, // Teredo
		"64:ff9b:1::a9fe:a9fe":     true,

		"127.0.0.1":            false,
		"127.8.9.10":           false,
		"::1":                  false,
		"::ffff:127.0.0.1":     false,
		"10.0.0.1":             false,
		"172.16.5.4":           false,
		"192.168.1.1":          false,
		"100.64.0.1":           false,
		"fd12:3456::1":         false,
		"198.18.0.1":           false,
		"8.8.8.8":              false,
		"64:ff9b::8.8.8.8":     false,
		"2606:4700:4700::1111": false,
		"168.63.129.17":        false,
	} {
		ip := netip.MustParseAddr(text)
		err := control("tcp", netip.AddrPortFrom(ip, 8080).String(), nil)
		if (err != nil) != refused || (err != nil && !errors.Is(err, errRefusedAddress)) {
			t.Errorf("%s: %v, want refused %v", text, err, refused)
		}
	}
	for _, text := range []string{"", "receiver.example:80", "127.0.0.1", "/run/socket"} {
		if err := control("unix", text, nil); !errors.Is(err, errRefusedAddress) {
			t.Errorf("%q: %v, want refused", text, err)
		}
	}
}

// FuzzRefuse: no spelling of an IPv4 address that is refused gets through.
func FuzzRefuse(f *testing.F) {
	f.Add(uint32(0xa9fea9fe))
	f.Add(uint32(0x7f000001))
	f.Add(uint32(0))
	f.Fuzz(func(t *testing.T, n uint32) {
		v4 := netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		b := v4.As4()
		for _, prefix := range []string{"::ffff:0:0", "64:ff9b::"} {
			spelt := netip.MustParseAddr(prefix).As16()
			copy(spelt[12:], b[:])
			if got, want := refuse(netip.AddrFrom16(spelt)) != nil, refuse(v4) != nil; got != want {
				t.Errorf("%v: refused %v, and %v: %v", v4, want, netip.AddrFrom16(spelt), got)
			}
		}
		if v4.IsLinkLocalUnicast() && refuse(v4) == nil {
			t.Errorf("%v gets through", v4)
		}
	})
}

// TestRefusedAddressesAreRetried, and the error says that they are no targets.
func TestRefusedAddressesAreRetried(t *testing.T) {
	for _, host := range []string{"169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "0.0.0.0", "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]"} {
		p := poster(t, Target{URL: "http://user:secret@" + host + "/latest/meta-data?x=secret", Timeout: generous}, Config{})
		retried("link-local, cloud metadata and other special addresses are no targets").check(t, post(t, p))
	}
}

func TestNobodyListens(t *testing.T) {
	l := listen(t)
	addr := l.Addr().String()
	_ = l.Close()
	p := poster(t, Target{URL: "http://user:secret@" + addr + "/hook?token=secret", Timeout: generous}, Config{})
	retried("connection refused by "+addr).check(t, post(t, p))
}

// TestNamesThatLeadNowhere: what DNS says is told, without the rest of the URL.
func TestNamesThatLeadNowhere(t *testing.T) {
	for want, err := range map[string]error{
		"DNS: no such host receiver.example":                              &net.DNSError{Err: "no such host", Name: "receiver.example", IsNotFound: true},
		"DNS: no answer about receiver.example in time":                   &net.DNSError{Err: "i/o timeout", Name: "receiver.example", IsTimeout: true},
		"DNS: receiver.example could not be resolved: server misbehaving": &net.DNSError{Err: "server misbehaving", Name: "receiver.example"},
		"no route to receiver.example:80":                                 &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH},
		"something else":                                                  errors.New("something else\n"),
	} {
		dial := func(context.Context, string, string) (net.Conn, error) { return nil, err }
		p := poster(t, Target{URL: "http://user:secret@receiver.example/?token=secret", Timeout: generous}, Config{Dial: dial})
		retried(want).check(t, post(t, p))
	}
}

// TestTheDeadlineHoldsForTheName: and the error says that it was the name.
func TestTheDeadlineHoldsForTheName(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		<-over // a name server that does not answer
		return nil, net.ErrClosed
	}}
	dial := (&net.Dialer{Resolver: resolver}).DialContext
	p := poster(t, Target{URL: "http://receiver.example", Timeout: time.Second}, Config{Dial: dial})
	retried("timeout after 1s while resolving the name").check(t, post(t, p))
}

// TestNoProxyIsAsked: one of the environment would dial for us, past the guard.
func TestNoProxyIsAsked(t *testing.T) {
	proxy := receive(t, listen(t), answering(ok))
	t.Setenv("HTTP_PROXY", proxy.url())
	t.Setenv("HTTPS_PROXY", proxy.url())
	t.Setenv("ALL_PROXY", proxy.url())
	p := poster(t, Target{URL: "http://169.254.169.254/", Timeout: generous}, Config{})
	retried("no targets").check(t, post(t, p))
	if n := proxy.conns.Load(); n != 0 {
		t.Errorf("the proxy saw %d connections", n)
	}
}

// TestTheCallerGivesUp: an attempt ends with its context, in each phase.
func TestTheCallerGivesUp(t *testing.T) {
	for name, play := range map[string]func(*peer, context.CancelFunc){
		"before the answer": func(p *peer, cancel context.CancelFunc) { _, _, _ = p.request(); cancel(); p.gone() },
		"within the head": func(p *peer, cancel context.CancelFunc) {
			_, _, _ = p.request()
			_ = p.say("HTTP/1.1")
			cancel()
			p.gone()
		},
		"before the handshake": func(p *peer, cancel context.CancelFunc) { _, _ = p.in.ReadByte(); cancel(); p.gone() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := receive(t, listen(t), func(p *peer) { play(p, cancel) })
			url := r.url()
			if strings.Contains(name, "handshake") {
				url = "https://" + r.Addr().String()
			}
			p := poster(t, Target{URL: url, Timeout: generous}, Config{})
			got := p.Post(ctx, delivery("{}"))
			checkResult(t, got)
			retried("the attempt was given up while").check(t, got)
		})
	}
	t.Run("before it begins", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := receive(t, listen(t), answering(ok))
		p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{})
		retried("the attempt was given up while connecting").check(t, p.Post(ctx, delivery("{}")))
	})
	t.Run("after the head", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p := New(Target{URL: "http://receiver.test"}, Config{Dial: pipes(
				once("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", func(p *peer) {
					synctest.Wait() // the body is awaited
					cancel()
					p.gone()
				}))})
			got := p.Post(ctx, delivery("{}"))
			p.Close()
			accepted.check(t, got)
			if got.Took != 0 {
				t.Errorf("it took %v", got.Took)
			}
		})
	})
}
