package hostile

import (
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// A stream is refused before it has begun, with the code of what is wrong: an
// EventSource never tries again after a refusal, and is never left open by one.
func TestStreamParametersThatAreNone(t *testing.T) {
	s := besiege(t, servertest.Options{})
	for query, want := range map[string]struct {
		status int
		code   string
	}{
		"": {400, "subscription_ambiguous"}, "ops=create": {400, "subscription_ambiguous"},
		"name=": {404, "subscription_not_found"}, "name=nothing": {404, "subscription_not_found"}, "name=ALL": {404, "subscription_not_found"}, "name=all%00": {404, "subscription_not_found"},
		"name=%ff": {404, "subscription_not_found"}, "name=" + strings.Repeat("a", 60000): {404, "subscription_not_found"}, "name=a%0d%0aX:%20y": {404, "subscription_not_found"},
		"name=all&Name=rows": {400, "bad_parameter"}, "name=all&token=x": {400, "bad_parameter"}, "name=all&filter[n][eq]=1": {400, "bad_parameter"},
		"name=all&" + strings.Repeat("a&", 5000):          {400, "bad_parameter"},
		"name=all&" + strings.Repeat("ops=create&", 5000): {400, "bad_ops"}, "name=all&ops=": {400, "bad_ops"}, "name=all&ops=,": {400, "bad_ops"}, "name=all&ops=create,": {400, "bad_ops"},
		"name=all&ops=CREATE": {400, "bad_ops"}, "name=all&ops=create%20": {400, "bad_ops"}, "name=all&ops=*": {400, "bad_ops"}, "name=all&ops=leave": {400, "bad_ops"}, "name=all&ops=%00": {400, "bad_ops"},
		"name=all&ops=" + strings.Repeat("create,", 8000) + "x": {400, "bad_ops"}, "name=births&ops=delete": {400, "bad_ops"}, "name=births&leave=true": {400, "bad_ops"}, "name=all&ops=create&leave=true": {400, "bad_ops"},
		"name=all&heartbeat=1e999h": {400, "bad_heartbeat"}, "name=all&heartbeat=": {400, "bad_heartbeat"}, "name=all&heartbeat=0": {400, "bad_heartbeat"}, "name=all&heartbeat=-5s": {400, "bad_heartbeat"},
		"name=all&heartbeat=5": {400, "bad_heartbeat"}, "name=all&heartbeat=999ms": {400, "bad_heartbeat"}, "name=all&heartbeat=5m1ns": {400, "bad_heartbeat"}, "name=all&heartbeat=NaN": {400, "bad_heartbeat"},
		"name=all&heartbeat=" + strings.Repeat("9", 50000) + "s": {400, "bad_heartbeat"}, "name=all&heartbeat=9223372036854775808ns": {400, "bad_heartbeat"}, "name=all&heartbeat=" + strings.Repeat("1s", 20000): {400, "bad_heartbeat"},
		"name=all&heartbeat=1s&heartbeat=1s": {400, "bad_heartbeat"}, "name=all&heartbeat=%D9%A1s": {400, "bad_heartbeat"}, "name=all&heartbeat=1s%00": {400, "bad_heartbeat"},
		"name=all&lifetime=0s": {400, "bad_lifetime"}, "name=all&lifetime=4h1ns": {400, "bad_lifetime"}, "name=all&lifetime=inf": {400, "bad_lifetime"}, "name=all&lifetime=1e9h": {400, "bad_lifetime"}, "name=all&lifetime=-1h": {400, "bad_lifetime"},
		"name=all&leave=1": {400, "bad_parameter"}, "name=all&leave=TRUE": {400, "bad_parameter"}, "name=all&leave=": {400, "bad_parameter"}, "name=all&leave=true&leave=true": {400, "bad_parameter"},
		"name=all&lastEventId=a&lastEventId=b": {400, "bad_parameter"}, "name=all&lasteventid=a": {400, "bad_parameter"}, "name=all&Last-Event-ID=a": {400, "bad_parameter"},
	} {
		a := s.send(s.request("GET /subscribe/thing?"+query, "", ""))
		a.refused(t, query[:min(len(query), 60)], want.status, want.code)
		if strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("%.60s: a refusal looks like a stream", query)
		}
	}
	for path, code := range map[string]string{"/subscribe/quiet": "no_subscription_declared", "/subscribe/quiet?name=x&heartbeat=1e999h": "no_subscription_declared", "/subscribe/nothing?name=x": "entity_not_found"} {
		s.send(s.request("GET "+path, "", "")).refused(t, path, 404, code)
	}
	s.unharmed()
}

// odd are last event ids that stand for no place in the log.
func odd() []string {
	return []string{
		"x", "0", "-1", "null", "*", "%", "'", "' OR 1=1--", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01arz3ndektsv4rrffq69g5fav", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
		"00000000000000000000000000", "~", "~~", "~AAAA", "~=", "~****", "~" + strings.Repeat("A", 83), "~" + strings.Repeat("A", 40000), strings.Repeat("x", 60000), "a\tb", `"`, `\`, `{"id":1}`,
		"é", "\u2028", "😀", "\xff\xfe", "id: 5", "</script>",
	}
}

// Whatever a client says it saw last, the stream opens; what is no place is told
// as a gap, in one frame, with a position that goes on from there.
func TestLastEventIDsThatAreNone(t *testing.T) {
	s := besiege(t, servertest.Options{})
	for _, id := range odd() {
		since := strings.ToValidUTF8(id, "\uFFFD")
		if id == "\xff\xfe" {
			since = "" // its text is the server's choice, as long as it is JSON
		}
		s.gap(s.ann.With("Last-Event-ID", id).Open("/subscribe/thing?name=all"), since)
	}
	for _, id := range append(odd(), "\x00", "a\x00b", "a\nb", "a\r\n\r\ndata: x\n\n", " ") {
		since := id
		if id == "\xff\xfe" {
			since = ""
		}
		s.gap(s.ann.Open("/subscribe/thing?name=all&lastEventId="+url.QueryEscape(id)), since)
	}
	s.unharmed()
}

// gap checks that a stream begins with a gap of reason unknown or expired, whose id is a place.
func (s *siege) gap(stream *servertest.Stream, since string) {
	t := s.t
	t.Helper()
	defer stream.Close()
	f := stream.Frame()
	doc := f.JSON()
	if f.Event != "stream.gap" || doc["reason"] != "unknown" || strings.Count(f.Raw, "\n") != 3 || strings.ContainsAny(f.Raw, "\r\u2028\u2029\x00") || !strings.HasPrefix(f.ID, "~") {
		t.Errorf("since %.60q: %.300q", since, f.Raw)
	}
	if got, _ := doc["since"].(string); since != "" && got != since {
		t.Errorf("since is %.60q, want %.60q", got, since)
	}
}

// A bookmark is sealed: a flipped bit or a cut makes it none.
func TestBookmarksThatWereTouched(t *testing.T) {
	s := besiege(t, servertest.Options{})
	beating := s.ann.Open("/subscribe/thing?name=all&heartbeat=1s")
	beating.Ping()
	mark := beating.LastID()
	if mark == "" {
		mark = beating.Next().ID
	}
	beating.Close()
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(mark, "~"))
	if err != nil || len(raw) < 12+8+16 {
		t.Fatalf("the bookmark is %q", mark)
	}
	sealed := func() string { return "~" + base64.RawURLEncoding.EncodeToString(raw) }
	for bit := 0; bit < len(raw)*8; bit += 3 {
		raw[bit/8] ^= 1 << (bit % 8)
		s.gap(s.ann.Resume("/subscribe/thing?name=all", sealed()), sealed())
		raw[bit/8] ^= 1 << (bit % 8)
	}
	for n := 1; n < len(mark); n += 5 {
		s.gap(s.ann.Resume("/subscribe/thing?name=all", mark[:n]), mark[:n])
	}
	s.gap(s.ann.Resume("/subscribe/thing?name=all", strings.ToLower(mark)), strings.ToLower(mark))
	s.gap(s.ann.Resume("/subscribe/thing?name=all", mark+mark), mark+mark)
	whole := s.ann.Resume("/subscribe/thing?name=all&heartbeat=1s", mark)
	whole.Ping() // and no gap before it
	whole.Close()
	s.unharmed()
}

// One principal has a hundred places and no more; each comes back when its
// stream is gone, however it went, and a refusal takes none.
func TestTheHundredAndFirstStream(t *testing.T) {
	s := besiege(t, servertest.Options{})
	bob := s.User("bob")
	for round := range 2 {
		streams := make([]*servertest.Stream, 100)
		for i := range streams {
			streams[i] = s.ann.Open("/subscribe/thing?name=all")
		}
		for range 5 {
			a := s.ann.Get("/subscribe/thing?name=all")
			a.Problem(429, "too_many_streams")
			if a.Header.Get("Retry-After") == "" || strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
				t.Errorf("round %d: headers %v", round, a.Header)
			}
			s.ann.Get("/subscribe/thing?name=nothing").Problem(404, "subscription_not_found")
		}
		bob.Open("/subscribe/thing?name=all").Close() // others have places of their own
		for _, stream := range streams {
			stream.Close()
		}
		s.gone(3 * soon)
	}
	s.unharmed()
}

// A stream's answer has the headers that it has for everybody, whatever the
// request asked for: nothing compresses, caches or upgrades it.
func TestStreamHeadersAreNotTheCallersToMake(t *testing.T) {
	s := besiege(t, servertest.Options{})
	conns := map[string]*net.TCPConn{}
	for _, headers := range []string{
		"Accept-Encoding: gzip, br\r\n", "Accept: application/json\r\n", "Range: bytes=0-10\r\n", "If-None-Match: *\r\n", "Upgrade: websocket\r\nConnection: Upgrade\r\n",
		"Connection: close\r\n", "Cache-Control: max-age=0\r\n", "X-Request-Id: a\tb\r\n", "TE: trailers, deflate\r\n", "Content-Type: x\r\n", "Idempotency-Key: x\r\n",
	} {
		conns[headers] = s.dial()
		_, _ = io.WriteString(conns[headers], s.request(stream+"&lifetime=1s", headers, ""))
	}
	for headers, conn := range conns {
		a := s.readFrom(conn)
		if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "text/event-stream" || a.Header.Get("Cache-Control") != "no-cache" || a.Header.Get("Content-Encoding") != "" ||
			!strings.HasPrefix(a.Body, "retry: 2000\n: subscribed entity=thing subscription=rows closing-in=1s\n\n") || !strings.HasSuffix(a.Body, ": closing, reconnect\n\n") {
			t.Errorf("%q: %d %v %q", headers, a.Status, a.Header, a.Body)
		}
	}
	s.unharmed()
}
