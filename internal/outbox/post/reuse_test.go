package post

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// TestConnectionsAreKept: an answer that was read to its end leaves its
// connection for the next attempt, any other one is closed.
func TestConnectionsAreKept(t *testing.T) {
	long := "HTTP/1.1 200 OK\r\nContent-Length: 4097\r\n\r\n" + strings.Repeat("x", 4097)
	full := "HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n" + strings.Repeat("x", 4096)
	for name, c := range map[string]struct {
		answer string
		kept   bool
	}{
		"200 without a body":           {ok, true},
		"204":                          {"HTTP/1.1 204 No Content\r\n\r\n", true},
		"200 with a body of 4 KiB":     {full, true},
		"200 with a longer body":       {long, false},
		"200 with a body in chunks":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true},
		"500 with a body":              {"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno", true},
		"410 with a body":              {"HTTP/1.1 410 No\r\nContent-Length: 2\r\n\r\nno", true},
		"200 that closes":              {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false},
		"200 of HTTP/1.0":              {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false},
		"200 with more behind the end": {ok + "HTTP/1.1 500 No\r\n\r\n", false},
		"204 with a body":              {"HTTP/1.1 204 No Content\r\n\r\nsurplus", false},
		"a change of protocol":         {"HTTP/1.1 101 Switching Protocols\r\n\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, listen(t), answering(c.answer))
			p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{})
			first, second := post(t, p), post(t, p)
			if first.Status != second.Status || first.Class != second.Class {
				t.Errorf("the same answer came to %+v, and then to %+v", first, second)
			}
			if kept := r.conns.Load() == 1; kept != c.kept {
				t.Errorf("two attempts took %d connections, want the first kept: %v", r.conns.Load(), c.kept)
			}
		})
	}
}

// TestAConnectionClosedOnReuseCostsNoAttempt: whenever the receiver closes a
// connection that was kept, the delivery is received on another one, and the
// result tells of that answer alone.
func TestAConnectionClosedOnReuseCostsNoAttempt(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	cases := []struct {
		name string
		body string
		end  func(p *peer) // of the first connection, after its first answer
	}{
		{"closed after the head of the request", "{}", func(p *peer) { _, _ = p.in.ReadString('\n') }},
		{"closed after the whole request", "{}", func(p *peer) { _, _, _ = p.request() }},
		{"reset after the whole request", "{}", func(p *peer) { _, _, _ = p.request(); p.reset() }},
		{"reset after a part of the body", large, func(p *peer) {
			_, _ = io.CopyN(io.Discard, p.in, 64<<10)
			p.reset()
		}},
		{"closed after a part of the body", large, func(p *peer) { _, _ = io.CopyN(io.Discard, p.in, 64<<10) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			playReuse(t, c.end, c.body, func(*Poster) {})
		})
	}
}

// playReuse posts twice; end is what the first connection does after its first
// answer, and between runs before the second attempt.
func playReuse(t *testing.T, end func(*peer), body string, between func(*Poster)) {
	t.Helper()
	bodies, kept := make(chan string, 1), make(chan struct{})
	r := receive(t, listen(t), func(p *peer) {
		_, got, _ := p.request()
		if p.n > 1 {
			bodies <- string(got)
		}
		_ = p.say(ok)
		if p.n > 1 {
			p.gone()
		} else {
			<-kept
			end(p)
		}
	})
	p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{})
	accepted.check(t, post(t, p))
	close(kept)
	between(p)
	accepted.check(t, postBody(t, p, body))
	if got := <-bodies; got != body {
		t.Errorf("the second connection got a body of %d bytes, want all %d", len(got), len(body))
	}
	if n := r.conns.Load(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

// TestAnswersOnKeptConnectionsAreAnswers: a request is sent again only where no
// byte of an answer came; and on a fresh connection never.
func TestAnswersOnKeptConnectionsAreAnswers(t *testing.T) {
	t.Run("a part of an answer on a kept connection", func(t *testing.T) {
		r := receive(t, listen(t), func(p *peer) {
			_, _, _ = p.request()
			_ = p.say(ok)
			_, _, _ = p.request()
			_ = p.say("HTTP/1.1 500 No")
		})
		p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{})
		accepted.check(t, post(t, p))
		retried("closed within the answer's head").check(t, post(t, p))
		if n := r.conns.Load(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
	t.Run("no answer on a fresh connection", func(t *testing.T) {
		r := receive(t, listen(t), once("", closes))
		p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{})
		retried("closed without an answer").check(t, post(t, p))
		if n := r.conns.Load(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
	t.Run("no answer on a kept connection, nor on a fresh one", func(t *testing.T) {
		r := receive(t, listen(t), func(p *peer) {
			_, _, _ = p.request()
			if p.n == 1 {
				_ = p.say(ok)
				_, _, _ = p.request()
			}
		})
		p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{})
		accepted.check(t, post(t, p))
		retried("closed without an answer").check(t, post(t, p))
		if n := r.conns.Load(); n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
	})
}

// TestSurplusUnderTLSIsNoAnswer: what a receiver sends behind its answer, in a
// record of its own, is not taken for the next delivery's answer.
func TestSurplusUnderTLSIsNoAnswer(t *testing.T) {
	vouched := newAuthority(t)
	r := receive(t, secure(listen(t), vouched.sign(t, sound)), func(p *peer) {
		_, _, _ = p.request()
		if p.n == 1 {
			// Two records; a sender that reads them at once has both in its buffers.
			_ = p.say(ok)
			_ = p.say(ok)
			p.gone()
			return
		}
		_ = p.say("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
	})
	delayed := func(c net.Conn) net.Conn { return &joining{Conn: c} }
	p := poster(t, Target{URL: "https://" + r.Addr().String(), Timeout: generous, Roots: vouched.roots()}, Config{Dial: dialThrough(delayed)})
	accepted.check(t, post(t, p))
	want{Retry, 500, false, "500"}.check(t, post(t, p))
}

// TestEachAttemptHasItsOwnConnection, and no more than Idle are kept.
func TestEachAttemptHasItsOwnConnection(t *testing.T) {
	const posts, idle = 6, 2
	var arrived sync.WaitGroup
	arrived.Add(posts)
	gone := make(chan struct{}, posts)
	r := receive(t, listen(t), func(p *peer) {
		_, _, _ = p.request()
		arrived.Done()
		arrived.Wait() // all are in flight at once
		_ = p.say(ok)
		p.gone()
		gone <- struct{}{}
	})
	p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{Idle: idle})
	var all sync.WaitGroup
	for range posts {
		all.Go(func() { accepted.check(t, p.Post(t.Context(), delivery("{}"))) })
	}
	all.Wait()
	for range posts - idle {
		<-gone // those too many
	}
	if n := r.conns.Load(); n != posts {
		t.Errorf("%d connections, want %d", n, posts)
	}
	p.Close()
	for range idle {
		<-gone
	}
}

// TestNothingIsLeftAfterClose: no goroutine and no connection, whatever became
// of the attempts.
func TestNothingIsLeftAfterClose(t *testing.T) {
	gone := make(chan struct{}, 4)
	r := receive(t, listen(t), func(p *peer) {
		defer func() { gone <- struct{}{} }()
		_, _, _ = p.request()
		switch p.n {
		case 1:
			_ = p.say("HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 2*bodyLimit)) // no end
		case 2:
			_ = p.say("HTTP/1.1 2")
			return
		default:
			_ = p.say(ok)
		}
		p.gone()
	})
	before := goleak.IgnoreCurrent()
	p := New(Target{URL: r.url(), Timeout: generous}, Config{})
	for _, body := range []string{"{}", strings.Repeat("x", 1<<20), "{}"} {
		p.Post(t.Context(), delivery(body))
	}
	p.Close()
	p.Close()
	for range 3 {
		<-gone
	}
	goleak.VerifyNone(t, before)
	accepted.check(t, p.Post(t.Context(), delivery("{}")))
	<-gone // it is not kept
}

// TestKeptConnectionsGrowOld: one that nobody used for half a minute is closed,
// without any further attempt.
func TestKeptConnectionsGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		gone := make(chan time.Duration, 2)
		dial := pipes(func(p *peer) {
			answering(ok)(p)
			gone <- time.Since(start)
		})
		p := New(Target{URL: "http://receiver.test", Timeout: time.Second}, Config{Dial: dial})
		for range 3 {
			accepted.check(t, p.Post(t.Context(), delivery("{}")))
			time.Sleep(20 * time.Second) // younger than 30 s: used again
		}
		if closed := <-gone; closed != 40*time.Second+keptFor {
			t.Errorf("closed after %v, want %v after the last use", closed, keptFor)
		}
		p.Close()
	})
}

// TestTheDeadlineIsExact: with time in the test's own hands, an answer just before
// it counts, and one at it does not.
func TestTheDeadlineIsExact(t *testing.T) {
	for after, want := range map[time.Duration]want{
		9*time.Second + 999*time.Millisecond: accepted,
		11 * time.Second:                     retried("timeout after 10s while waiting for the answer"),
	} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial := pipes(once("", func(p *peer) {
					time.Sleep(after)
					_ = p.say(ok)
				}))
				p := New(Target{URL: "http://receiver.test"}, Config{Dial: dial})
				defer p.Close()
				got := p.Post(t.Context(), delivery("{}"))
				want.check(t, got)
				if took := min(after, 10*time.Second); got.Took != took {
					t.Errorf("took %v, want %v", got.Took, took)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}
