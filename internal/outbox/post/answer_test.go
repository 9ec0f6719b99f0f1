package post

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// once reads a request, says text, and then does more.
func once(text string, more func(*peer)) func(*peer) {
	return func(p *peer) {
		if _, _, err := p.request(); err != nil || p.say(text) != nil {
			return
		}
		more(p)
	}
}

func closes(*peer)  {}
func waits(p *peer) { p.gone() }

// drips says text again and again, a little at a time, until the sender goes.
func drips(text string) func(*peer) {
	return func(p *peer) {
		gone := make(chan struct{})
		go func() { p.gone(); close(gone) }()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-gone:
				return
			case <-tick.C:
				if p.say(text) != nil {
					<-gone
					return
				}
			}
		}
	}
}

// pours says text without end.
func pours(text string) func(*peer) {
	bytes := []byte(text) // once: what is allocated is measured
	return func(p *peer) {
		for {
			if _, err := p.Write(bytes); err != nil {
				return
			}
		}
	}
}

// TestHostileAnswers: whatever a receiver answers, an attempt ends within its
// deadline with a class of C1's table, and an error that says what happened.
func TestHostileAnswers(t *testing.T) {
	cases := []struct {
		name string
		play func(*peer)
		slow bool // it ends with the deadline
		want want
	}{
		{"a head that drips until the deadline", once("HTTP/1.1 200 OK\r\n", drips("X-A: b\r\n")), true, retried("timeout after 10s while reading the answer's head")},
		{"a body that drips until the deadline", once("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n", drips("x")), true, accepted},
		{"a refusal whose body drips until the deadline", once("HTTP/1.1 410 Gone\r\nContent-Length: 4000\r\n\r\n", drips("x")), true, want{Refuse, 410, true, "410 Gone"}},
		{"a body without end", once("HTTP/1.1 200 OK\r\n\r\n", pours(strings.Repeat("x", 64<<10))), false, accepted},
		{"a chunked body without end", once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", pours("1\r\nx\r\n")), false, accepted},
		{"a chunk extension without end", once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", pours(strings.Repeat("x", 1024))), false, accepted},
		{"10 MiB of headers", once("HTTP/1.1 200 OK\r\n", func(p *peer) {
			for range 10 << 10 {
				if p.say("X-A: "+strings.Repeat("a", 1017)+"\r\n") != nil {
					return
				}
			}
			_ = p.say("Content-Length: 0\r\n\r\n")
		}), false, retried("the answer's head is longer than 64 KiB")},
		{"one header line without end", once("HTTP/1.1 200 OK\r\nX-A: ", pours(strings.Repeat("a", 4096))), false, retried("longer than 64 KiB")},
		{"a status line without end", once("HTTP/1.1 200 ", pours(strings.Repeat("a", 4096))), false, retried("longer than 64 KiB")},
		{"interim answers without end", once("", pours("HTTP/1.1 102 Processing\r\n\r\n")), false, retried("too many interim answers (1xx)")},
		{"interim answers that drip", once("", drips("HTTP/1.1 102 P\r\nX-A: "+strings.Repeat("a", 8000)+"\r\n\r\n")), false, retried("")},
		{"a few interim answers, then the final one", once("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"+ok, waits), false, accepted},
		{"a change of protocol", once("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", waits), false, want{Retry, 101, false, "101 Switching Protocols"}},
		{"204 with a body", once("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 500 No\r\n\r\n", waits), false, want{Accepted, 204, true, ""}},
		{"204 with the length of a body that does not come", once("HTTP/1.1 204 No Content\r\nContent-Length: 10\r\n\r\n", waits), false, want{Accepted, 204, true, ""}},
		{"a head, then a reset", once("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", (*peer).reset), false, accepted},
		{"a part of a head, then a reset", once("HTTP/1.1 200 OK\r\nContent-", (*peer).reset), false, retried("connection reset while reading the answer's head")},
		{"a part of a head, then the end", once("HTTP/1.1 200 OK\r\nContent-", closes), false, retried("closed within the answer's head")},
		{"the end instead of an answer", once("", closes), false, retried("closed without an answer")},
		{"a reset instead of an answer", once("", (*peer).reset), false, retried("connection reset while waiting for the answer")},
		{"nothing at all", once("", waits), true, retried("timeout after 10s while waiting for the answer")},
		{"a status that is none", once("HTTP/1.1 2OO OK\r\n\r\n", waits), false, retried("no valid HTTP/1.x; does the port speak TLS?")},
		{"a status of two digits", once("HTTP/1.1 20 OK\r\n\r\n", waits), false, retried("no valid HTTP/1.x")},
		{"a status of four digits", once("HTTP/1.1 2000 OK\r\n\r\n", waits), false, retried("no valid HTTP/1.x")},
		{"a status below 100", once("HTTP/1.1 020 OK\r\n\r\n", waits), false, retried("no valid HTTP/1.x")},
		{"a status above 599", once("HTTP/1.1 999 Request Denied\r\nContent-Length: 0\r\n\r\n", waits), false, want{Retry, 999, false, "999"}},
		{"another version of HTTP", once("HTTP/2.0 200 OK\r\n\r\n", waits), false, retried("no valid HTTP/1.x")},
		{"an echo of the request", once("POST /hook?token=secret HTTP/1.1\r\nAuthorization: secret\r\n\r\n", waits), false, retried("no valid HTTP/1.x")},
		{"another protocol", once("220 mail.example ESMTP\r\n", waits), false, retried("no valid HTTP/1.x")},
		{"HTTP/1.0", once("HTTP/1.0 200 OK\r\n\r\nthanks", closes), false, accepted},
		{"a longer body than is told", once("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nthanks", waits), false, accepted},
		{"a shorter body than is told", once("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx", closes), false, accepted},
		{"a length that is no number", once("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", waits), false, retried("no valid HTTP/1.x")},
		{"two lengths", once("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", waits), false, retried("no valid HTTP/1.x")},
		{"chunks that are none", once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\x00\xff", closes), false, accepted},
		{"a huge chunk", once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx", closes), false, accepted},
	}
	for _, c := range cases {
		if c.slow {
			t.Run(c.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { playSlow(t, c.play, c.want, "{}") }) })
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := receive(t, listen(t), c.play)
			p := poster(t, Target{URL: r.url() + "/hook?token=secret", Timeout: generous}, Config{})
			got := post(t, p)
			c.want.check(t, got)
			if got.Took >= generous {
				t.Error("ended with the deadline only")
			}
		})
	}
}

// playSlow runs in the test's own time, and holds the attempt to end just with
// its deadline.
func playSlow(t *testing.T, play func(*peer), w want, body string) {
	t.Helper()
	p := New(Target{URL: "http://receiver.test/hook?token=secret"}, Config{Dial: pipes(play)})
	got := p.Post(t.Context(), delivery(body))
	p.Close()
	checkResult(t, got)
	w.check(t, got)
	if got.Took != defaultTimeout {
		t.Errorf("ended after %v, want %v", got.Took, defaultTimeout)
	}
}

// TestAnAnswerAfterTheDeadlineIsNone: a receiver that says 200 too late has not
// accepted, nor has one that says nothing, on real sockets.
func TestAnAnswerAfterTheDeadlineIsNone(t *testing.T) {
	for name, play := range map[string]func(*peer){
		"200 when the sender has gone": once("", func(p *peer) { p.gone(); _ = p.say(ok) }),
		"a head that drips":            once("HTTP/1.1 200 OK\r\n", drips("X-A: b\r\n")),
		"nothing":                      waits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := receive(t, listen(t), play)
			p := poster(t, Target{URL: r.url(), Timeout: short}, Config{})
			got := post(t, p)
			retried("timeout after 300ms while").check(t, got)
			if got.Took < short {
				t.Errorf("ended after %v, before the deadline", got.Took)
			}
		})
	}
}

// TestAnAnswerBeforeTheBodyWasRead: a receiver may answer before it has read the
// request. What it refuses is over; what it accepts it still gets whole.
func TestAnAnswerBeforeTheBodyWasRead(t *testing.T) {
	body := strings.Repeat("x", 16<<20) // more than any socket's buffers
	head := func(p *peer) {
		for {
			if line, err := p.in.ReadString('\n'); err != nil || line == "\r\n" {
				return
			}
		}
	}
	t.Run("a refusal, and nothing is read any more", func(t *testing.T) {
		r := receive(t, listen(t), func(p *peer) {
			head(p)
			_ = p.say("HTTP/1.1 413 Request Entity Too Large\r\nContent-Length: 0\r\n\r\n")
			p.gone()
		})
		p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{})
		want{Refuse, 413, true, "413"}.check(t, postBody(t, p, body))
	})
	t.Run("a refusal, and the connection is reset", func(t *testing.T) {
		r := receive(t, listen(t), func(p *peer) {
			head(p)
			_ = p.say("HTTP/1.1 413 Request Entity Too Large\r\nContent-Length: 0\r\n\r\n")
		})
		p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{})
		want{Refuse, 413, true, "413"}.check(t, postBody(t, p, body))
	})
	t.Run("200, and the body is read after it", func(t *testing.T) {
		got := make(chan int64, 1)
		r := receive(t, listen(t), func(p *peer) {
			head(p)
			_ = p.say(ok)
			n, _ := io.CopyN(io.Discard, p.in, int64(len(body)))
			got <- n
		})
		p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{})
		accepted.check(t, postBody(t, p, body))
		if n := <-got; n != int64(len(body)) {
			t.Errorf("the receiver got %d bytes of %d", n, len(body))
		}
	})
	stays := func(answer string) func(*peer) {
		return func(p *peer) {
			head(p)
			_ = p.say(answer)
			// Only a read would see the end, and the body is not read.
			for {
				if _, err := p.Write([]byte("x")); err != nil {
					return
				}
			}
		}
	}
	t.Run("200, and the body is never read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			playSlow(t, stays("HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n"), accepted, body)
		})
	})
	t.Run("no answer, and the body is never read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			over := make(chan struct{})
			defer close(over)
			playSlow(t, func(p *peer) { head(p); <-over }, retried("timeout after 10s while sending the request"), body)
		})
	})
}

// bomb returns 64 MiB of zeros, compressed.
func bomb(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.CopyN(w, zeros{}, 64<<20); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// manyNames returns short header lines, each of another name, of more than 64 KiB.
func manyNames() string {
	var b strings.Builder
	for i := range 20_000 {
		b.WriteString(strconv.FormatInt(int64(i), 36) + ":\n")
	}
	return b.String()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestAReceiverCostsBoundedMemory: what an attempt allocates does not grow with
// what the receiver sends.
func TestAReceiverCostsBoundedMemory(t *testing.T) {
	zipped := bomb(t)
	for name, play := range map[string]func(*peer){
		"a gzip bomb": once("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: "+
			strconv.Itoa(len(zipped))+"\r\n\r\n"+zipped, closes),
		"a gzip bomb in one chunk": once("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"+
			strconv.FormatInt(int64(len(zipped)), 16)+"\r\n"+zipped, closes),
		"headers without end":      once("HTTP/1.1 200 OK\r\n", pours(strings.Repeat("A: b\r\n", 1000))),
		"header lines of one byte": once("HTTP/1.1 200 OK\r\n", pours(strings.Repeat("A:\n", 1000))),
		"many names of headers":    once("HTTP/1.1 200 OK\r\n", pours(manyNames())),
		"a body without end":       once("HTTP/1.1 200 OK\r\n\r\n", pours(strings.Repeat("x", 32<<10))),
	} {
		t.Run(name, func(t *testing.T) {
			r := receive(t, listen(t), play)
			p := poster(t, Target{URL: r.url(), Timeout: generous}, Config{Idle: -1})
			post(t, p) // what is allocated once
			const posts = 8
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range posts {
				p.Post(t.Context(), delivery("{}"))
			}
			runtime.ReadMemStats(&after)
			t.Logf("an attempt allocated %d KiB", (after.TotalAlloc-before.TotalAlloc)/posts>>10)
			if each := (after.TotalAlloc - before.TotalAlloc) / posts; each > 4<<20 {
				t.Errorf("an attempt allocated %d KiB, want at most 4 MiB, the receiver's own included", each>>10)
			}
		})
	}
}
