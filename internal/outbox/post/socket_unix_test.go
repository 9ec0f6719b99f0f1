//go:build unix

package post

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// TestAnAddressThatDoesNotAnswer: neither with a handshake nor with a refusal.
func TestAnAddressThatDoesNotAnswer(t *testing.T) {
	p := poster(t, Target{URL: "http://" + deaf(t), Timeout: short}, Config{})
	got := post(t, p)
	retried("timeout after 300ms while connecting").check(t, got)
	if got.Took < short {
		t.Errorf("ended after %v, before the deadline", got.Took)
	}
}

// deaf returns the address of a listener whose queue of connections is full.
func deaf(t *testing.T) string {
	t.Helper()
	l := listen(t)
	t.Cleanup(func() { _ = l.Close() })
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { err = syscall.Listen(int(fd), 0) }); err != nil {
		t.Fatal(err)
	}
	for {
		conn, err := net.DialTimeout("tcp", l.Addr().String(), short)
		if err != nil {
			return l.Addr().String()
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

// TestNewsOnAKeptConnection: whatever came on it while it was kept, its end or an
// answer that nobody asked for, the next attempt takes another one.
func TestNewsOnAKeptConnection(t *testing.T) {
	for name, end := range map[string]func(*peer){
		"closed":                  closes,
		"reset":                   (*peer).reset,
		"408, and closed":         func(p *peer) { _ = p.say("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n") },
		"200 nobody asked for":    func(p *peer) { _ = p.say(ok); p.gone() },
		"a byte nobody asked for": func(p *peer) { _ = p.say("\n"); p.gone() },
	} {
		t.Run(name, func(t *testing.T) {
			playReuse(t, end, "{}", func(p *Poster) { awaitNews(t, p) })
		})
	}
}

// awaitNews waits until there is something to read on the connection that is kept.
func awaitNews(t *testing.T, p *Poster) {
	t.Helper()
	raw, err := p.kept.links[0].plain.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		return !errors.Is(err, syscall.EAGAIN)
	}); err != nil {
		t.Fatal(err)
	}
}
