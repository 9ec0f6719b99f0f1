package sse

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// Response headers: the four of the table; HTTP/2 has no Connection header.
func TestSetHeaders(t *testing.T) {
	for proto, want := range map[int]string{1: "keep-alive", 2: ""} {
		h := http.Header{}
		SetHeaders(h, proto)
		for name, value := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no", "Connection": want,
		} {
			if got := h.Get(name); got != value {
				t.Errorf("HTTP/%d: %s is %q, want %q", proto, name, got, value)
			}
		}
	}
}

// Frames: the bytes of a stream as printed there.
func TestBytes(t *testing.T) {
	p := append(AppendComment(AppendRetry(nil, 2*time.Second), "subscribed entity=order"), '\n')
	p = AppendFrame(p, "01", "entity.create", []byte(`{"id":"01"}`))
	p = AppendID(AppendComment(p, "ping"), "~abc")
	want := "retry: 2000\n: subscribed entity=order\n\nid: 01\nevent: entity.create\ndata: {\"id\":\"01\"}\n\n: ping\nid: ~abc\n\n"
	if string(p) != want {
		t.Errorf("got  %q\nwant %q", p, want)
	}
}

// A client that does not read is given up after the timeout, and a quiet
// stream is not ended by a deadline of an earlier write.
func TestSendGivesUpOnAClientThatDoesNotRead(t *testing.T) {
	ended := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		out := NewWriter(w, 50*time.Millisecond)
		if err := out.Send([]byte(": hello\n\n")); err != nil {
			ended <- err
			return
		}
		<-time.After(100 * time.Millisecond) // longer than the timeout: it was lifted
		block := make([]byte, 1<<20)
		for {
			if err := out.Send(block); err != nil {
				ended <- err
				return
			}
		}
	}))
	defer srv.Close()
	resp, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	hello := make([]byte, 9)
	if _, err := resp.Body.Read(hello); err != nil || string(hello) != ": hello\n\n" {
		t.Fatalf("got %q, %v", hello, err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("Send took it all")
		}
	case <-time.After(10 * time.Second):
		t.Error("Send still waits for a client that does not read")
	}
}

// deadlines records the deadlines that a connection is given.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) Write(p []byte) (int, error) { return len(p), nil }
func (d *deadlines) FlushError() error           { return nil }

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// The deadline of the last bytes stays, since net/http ends the response after
// them and would else wait for a client that does not read for ever.
func TestTheDeadlineOfTheLastBytesStays(t *testing.T) {
	var d deadlines
	out := NewWriter(&d, time.Minute)
	if err := out.Send([]byte(": ping\n\n")); err != nil {
		t.Fatal(err)
	}
	if len(d.set) != 2 || d.set[0].IsZero() || !d.set[1].IsZero() {
		t.Errorf("Send set %v, want a deadline and none", d.set)
	}
	if err := out.End([]byte(": closing\n\n")); err != nil {
		t.Fatal(err)
	}
	if len(d.set) != 3 || d.set[2].IsZero() {
		t.Errorf("End set %v, want one more deadline", d.set[2:])
	}
}
