package post

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/webhook"
)

// got is a request as a receiver saw it.
type got struct {
	*http.Request
	body []byte
}

// recording answers 200, and hands on what it got.
func recording(requests chan<- got) func(*peer) {
	return func(p *peer) {
		for {
			r, body, err := p.request()
			if err != nil {
				return
			}
			requests <- got{r, body}
			if p.say(ok) != nil {
				return
			}
		}
	}
}

// TestWhatAReceiverGets: method, path, headers and body of C1's What a receiver
// gets, the target's own headers, and nothing else.
func TestWhatAReceiverGets(t *testing.T) {
	now := time.Unix(1789245912, 5000)
	requests := make(chan got, 1)
	r := receive(t, listen(t), recording(requests))
	secrets := []string{"of today", "of yesterday"}
	p := poster(t, Target{
		URL: r.url() + "/hooks/orders?shard=1", Secrets: secrets, Timeout: generous,
		Headers: http.Header{
			"x-tenant": {"acme", "two"}, "Authorization": {"Bearer x"}, "X-Broken": {"a\r\nX-Smuggled: b"},
			"Host": {"other.example"}, "Content-Length": {"1"}, "transfer-encoding": {"chunked"}, "Connection": {"close"},
			"Content-Type": {"text/plain"}, "X-Kisai-Topic": {"forged"}, "Webhook-Id": {"forged"}, "Expect": {"100-continue"},
		},
	}, Config{Now: func() time.Time { return now }, UserAgent: "rowcast/1.2"})
	for _, body := range []string{`{"id":"1"}`, "", strings.Repeat("x", together), strings.Repeat("x", together+1), strings.Repeat("é", 1<<20)} {
		accepted.check(t, postBody(t, p, body))
		g := <-requests
		if g.Method != http.MethodPost || g.RequestURI != "/hooks/orders?shard=1" || g.Host != r.Addr().String() || g.Proto != "HTTP/1.1" {
			t.Errorf("got %s %s of %s over %s", g.Method, g.RequestURI, g.Host, g.Proto)
		}
		if string(g.body) != body || g.ContentLength != int64(len(body)) || g.TransferEncoding != nil {
			t.Errorf("got %d bytes of a body of %d, told %d", len(g.body), len(body), g.ContentLength)
		}
		d, err := webhook.VerifyAt(g.Header, g.body, secrets, 0, now)
		want := delivery(body)
		if err != nil || d.ID != want.ID || d.Topic != want.Topic || d.Event != want.Event {
			t.Errorf("verified as %+v, %v", d, err)
		}
		if at := g.Header.Get(webhook.HeaderTimestamp); at != "1789245912" {
			t.Errorf("signed at %s", at)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/json", "User-Agent": "rowcast/1.2", "X-Tenant": "acme", "Authorization": "Bearer x",
			"X-Broken": "a  X-Smuggled: b",
		} {
			if value := g.Header.Get(name); value != want {
				t.Errorf("%s is %q, want %q", name, value, want)
			}
		}
		names := slices.Sorted(maps.Keys(g.Header))
		if all := []string{
			"Authorization", "Content-Length", "Content-Type", "User-Agent", "Webhook-Id", "Webhook-Signature", "Webhook-Timestamp",
			"X-Broken", "X-Kisai-Delivery", "X-Kisai-Event", "X-Kisai-Signature", "X-Kisai-Timestamp", "X-Kisai-Topic", "X-Tenant",
		}; !slices.Equal(names, all) {
			t.Errorf("got the headers %v, want %v", names, all)
		}
		for _, name := range names {
			if want := 1 + strings.Count(name, "X-Tenant"); len(g.Header[name]) != want {
				t.Errorf("%s comes %d times", name, len(g.Header[name]))
			}
		}
	}
}

// TestEachAttemptIsSignedAnew: the id and the body are those of the first
// attempt, the timestamp and the signature are not.
func TestEachAttemptIsSignedAnew(t *testing.T) {
	now := time.Unix(1789245912, 0)
	requests := make(chan got, 1)
	r := receive(t, listen(t), recording(requests))
	p := poster(t, Target{URL: r.url(), Secrets: []string{"s"}, Timeout: generous}, Config{Now: func() time.Time { return now }})
	post(t, p)
	first := <-requests
	now = now.Add(time.Hour)
	post(t, p)
	second := <-requests
	if first.Header.Get(webhook.HeaderDelivery) != second.Header.Get(webhook.HeaderDelivery) || !bytes.Equal(first.body, second.body) {
		t.Error("the second attempt has another id or body")
	}
	if _, err := webhook.VerifyAt(second.Header, second.body, []string{"s"}, time.Minute, now); err != nil {
		t.Errorf("the second attempt an hour later: %v", err)
	}
}

// TestUserinfoIsBasicAuthentication, unless the target has an Authorization.
func TestUserinfoIsBasicAuthentication(t *testing.T) {
	requests := make(chan got, 1)
	r := receive(t, listen(t), recording(requests))
	at := "http://us%40er:pa%3Ass@" + r.Addr().String() + "/"
	accepted.check(t, post(t, poster(t, Target{URL: at, Timeout: generous}, Config{})))
	if user, password, _ := (<-requests).BasicAuth(); user != "us@er" || password != "pa:ss" {
		t.Errorf("got %q and %q", user, password)
	}
	accepted.check(t, post(t, poster(t, Target{URL: at, Timeout: generous, Headers: http.Header{"authorization": {"Bearer x"}}}, Config{})))
	if all := (<-requests).Header["Authorization"]; !slices.Equal(all, []string{"Bearer x"}) {
		t.Errorf("got %q", all)
	}
}

// TestWhereAURLLeads: what is dialled, what the Host header says, and what is asked for.
func TestWhereAURLLeads(t *testing.T) {
	for text, want := range map[string][3]string{
		"http://receiver.example":                 {"receiver.example:80", "receiver.example", "/"},
		"http://receiver.example:8080/a%2Fb?c=d#": {"receiver.example:8080", "receiver.example:8080", "/a%2Fb?c=d"},
		"http://receiver.example:":                {"receiver.example:80", "receiver.example", "/"},
		"http://receiver.example?c":               {"receiver.example:80", "receiver.example", "/?c"},
		"http://[::1]:80/x y":                     {"[::1]:80", "[::1]:80", "/x%20y"},
		"http://[::1]/":                           {"[::1]:80", "[::1]", "/"},
		"http://[fe80::1%25eth0]:8080/":           {"[fe80::1%eth0]:8080", "[fe80::1]:8080", "/"},
		"https://receiver.example/":               {"receiver.example:443", "receiver.example", "/"},
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(newHead(u, nil, "x").fixed), "\r\nContent-Type")
		if want := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s", want[2], want[1]); first != want {
			t.Errorf("%s: %q, want %q", text, first, want)
		}
		if got := hostPort(u); got != want[0] {
			t.Errorf("%s dials %s, want %s", text, got, want[0])
		}
	}
}

// TestAURLThatCannotBeUsed: nothing is dialled, and the error says so without
// repeating it.
func TestAURLThatCannotBeUsed(t *testing.T) {
	for _, text := range []string{"", "/hook", "ftp://secret.example", "http://", "http:secret", "http://secret\x00.example", "http://secrét.example"} {
		dial := func(context.Context, string, string) (net.Conn, error) {
			t.Errorf("%q dials", text)
			return nil, net.ErrClosed
		}
		retried("the target's url").check(t, post(t, poster(t, Target{URL: text}, Config{Dial: dial})))
	}
}

// TestSecretsStayOut: no error of any kind tells what only the operator knows.
func TestSecretsStayOut(t *testing.T) {
	r := receive(t, listen(t), func(p *peer) {
		g, _, err := p.request()
		if err != nil {
			return
		}
		// Says all it was sent in each place of an answer.
		_ = p.say("HTTP/1.1 302 " + g.Header.Get("Authorization") + "\r\nLocation: " + g.RequestURI +
			"\r\nX-Echo: " + g.Header.Get("X-Key") + "\r\nRetry-After: " + g.Header.Get("X-Key") + "\r\nContent-Length: 6\r\n\r\nsecret")
	})
	p := poster(t, Target{
		URL: "http://user:secret@" + r.Addr().String() + "/hook?token=secret", Timeout: generous,
		Headers: http.Header{"X-Key": {"secret"}},
	}, Config{})
	want{Retry, 302, false, "leads to /hook"}.check(t, post(t, p))
}

// BenchmarkPost is one attempt on a kept connection, with a receiver that does no
// more than it must in the same process.
func BenchmarkPost(b *testing.B) {
	for _, size := range []int{300, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r := receive(b, listen(b), func(p *peer) {
				buffer := make([]byte, 128<<10)
				for {
					n := 0
					for {
						m, err := p.Read(buffer[n:])
						if err != nil {
							return
						}
						n += m
						if at := bytes.Index(buffer[:n], []byte("\r\n\r\n")); at >= 0 && n >= at+4+size {
							break
						}
					}
					if p.say(ok) != nil {
						return
					}
				}
			})
			p := poster(b, Target{URL: r.url(), Timeout: generous}, Config{UserAgent: "rowcast/1"})
			d := delivery(strings.Repeat("x", size))
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				if got := p.Post(b.Context(), d); got.Class != Accepted {
					b.Fatal(got)
				}
			}
		})
	}
}
