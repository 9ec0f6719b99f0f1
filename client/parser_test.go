package client

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tmaxmax/go-sse"
	"pgregory.net/rapid"
)

// parseAll returns what the parser says of a whole stream.
func parseAll(t testing.TB, r io.Reader) ([]frame, *parser) {
	t.Helper()
	p := newParser(r, "")
	var frames []frame
	for {
		f, err := p.next()
		if errors.Is(err, io.EOF) {
			return frames, p
		}
		if err != nil {
			t.Fatalf("next: %v", err)
		}
		frames = append(frames, f)
	}
}

func event(name, text, id string) frame {
	return frame{kind: kindEvent, name: name, text: text, id: id}
}

func TestParserReads(t *testing.T) {
	for _, test := range []struct {
		name, stream string
		want         []frame
	}{
		{"an event with all its fields", "id: 1\nevent: a\ndata: x\n\n", []frame{event("a", "x", "1")}},
		{"lines that end in CR", "id: 1\rdata: x\r\r", []frame{event("", "x", "1")}},
		{"lines that end in CRLF", "id: 1\r\ndata: x\r\n\r\n", []frame{event("", "x", "1")}},
		{"all three ends in one block", "id: 1\rdata: x\ndata: y\r\n\r\n", []frame{event("", "x\ny", "1")}},
		{"one leading BOM is dropped", "\ufeffdata: x\n\n", []frame{event("", "x", "")}},
		{"a second BOM makes the field unknown", "\ufeff\ufeffdata: x\n\n", nil},
		{"a BOM later makes the field unknown", "\n\ufeffdata: x\n\n", nil},
		{"data on many lines is joined by LF", "data: x\ndata:\ndata: y\n\n", []frame{event("", "x\n\ny", "")}},
		{"empty data is an event", "data\n\n", []frame{event("", "", "")}},
		{"only one space is cut", "data:  x\n\n", []frame{event("", " x", "")}},
		{"no space is needed", "data:x:y\n\n", []frame{event("", "x:y", "")}},
		{"a comment", ": ping\n", []frame{{kind: kindComment, text: "ping"}}},
		{"a comment inside a block does not end it", "data: x\n: c\ndata: y\n\n",
			[]frame{{kind: kindComment, text: "c"}, event("", "x\ny", "")}},
		{"a heartbeat moves the position without an event", ": ping\nid: ~p\n\n",
			[]frame{{kind: kindComment, text: "ping"}, {kind: kindPosition, id: "~p"}}},
		{"the id stays for later events", "id: 1\ndata: x\n\ndata: y\n\n", []frame{event("", "x", "1"), event("", "y", "1")}},
		{"an empty id clears it", "id: 1\ndata: x\n\nid\ndata: y\n\n", []frame{event("", "x", "1"), event("", "y", "")}},
		{"an id with NUL is ignored", "id: 1\ndata: x\n\nid: 2\x003\ndata: y\n\n", []frame{event("", "x", "1"), event("", "y", "1")}},
		{"the type does not stay", "event: a\ndata: x\n\ndata: y\n\n", []frame{event("a", "x", ""), event("", "y", "")}},
		{"a type without data is forgotten", "event: a\n\ndata: y\n\n", []frame{event("", "y", "")}},
		{"a block cut short is lost, and its id with it", "id: 1\ndata: x\n\nid: 2\ndata: y\n", []frame{event("", "x", "1")}},
		{"a last line without its end is lost", "data: x\n\ndata: y", []frame{event("", "x", "")}},
		{"names are case-sensitive and unknown ones ignored", "Data: x\nfoo: y\nretry2: 1\n\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, reader := range []io.Reader{strings.NewReader(test.stream), iotest.OneByteReader(strings.NewReader(test.stream))} {
				got, _ := parseAll(t, reader)
				if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(frame{})); diff != "" {
					t.Errorf("frames (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestRetryTakesDigitsOnly(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"2000": 2 * time.Second, "+5": 0, "1.5": 0, "": 0, "5 ": 0, "99999999999999999999": 0, "-1": 0,
	} {
		_, p := parseAll(t, strings.NewReader("retry: "+value+"\n"))
		if p.retry != want {
			t.Errorf("retry: %q: got %v, want %v", value, p.retry, want)
		}
	}
}

func TestAnEventIsGivenAtTheCRWithoutWaitingForMore(t *testing.T) {
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	go func() { _, _ = w.Write([]byte("data: x\r\r")) }()
	got, err := newParser(r, "").next() // hangs if it waits for a LF
	if err != nil || got.text != "x" {
		t.Errorf("got %+v, %v; want data x", got, err)
	}
}

func TestAFrameWithoutEndIsRefused(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, unit := range map[string]string{"one line": "data: " + long, "many lines": "data: " + long + "\n"} {
		t.Run(name, func(t *testing.T) {
			endless := &repeater{text: unit}
			if _, err := newParser(endless, "").next(); !errors.Is(err, errFrameTooLarge) {
				t.Errorf("got %v, want %v", err, errFrameTooLarge)
			}
		})
	}
}

// repeater is a reader that never ends.
type repeater struct {
	text string
	at   int
}

func (r *repeater) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// TestParserAgreesWithAnotherClient reads the same streams with go-sse. Events
// without data are left out: go-sse hands on a block of an id alone, which the
// standard has not.
func TestParserAgreesWithAnotherClient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{
			"data: x", "data:y", "data:  z", "data: {\"a\":\"b\"}", "id: 1", "id: ~two", "id:", "id: a\x00b",
			"event: entity.create", "event: b", ": comment", ": ping", "retry: 10", "unknown: x", "data: ü😀", "", "",
		})
		end := rapid.SampledFrom([]string{"\n", "\n", "\r\n", "\r"})
		var stream strings.Builder
		for range rapid.IntRange(0, 30).Draw(t, "lines") {
			stream.WriteString(line.Draw(t, "line") + end.Draw(t, "end"))
		}
		text := stream.String()
		var want []frame
		for ev, err := range sse.Read(strings.NewReader(text), nil) {
			if err != nil {
				t.Fatalf("go-sse: %v", err)
			}
			if ev.Data == "" {
				continue
			}
			want = append(want, event(ev.Type, ev.Data, ev.LastEventID))
		}
		if diff := cmp.Diff(want, onlyEvents(text), cmp.AllowUnexported(frame{})); diff != "" {
			t.Fatalf("stream %q (-go-sse +ours):\n%s", text, diff)
		}
	})
}

func onlyEvents(stream string) []frame {
	p := newParser(strings.NewReader(stream), "")
	var events []frame
	for {
		f, err := p.next()
		if err != nil {
			return events
		}
		if f.kind == kindEvent && f.text != "" {
			events = append(events, f)
		}
	}
}

// FuzzParser holds any bytes to what no stream may do: split differently by
// the sizes of the reads, carry a CR or LF in an id or a name, or never end.
func FuzzParser(f *testing.F) {
	for _, seed := range []string{
		"", "retry: 2000\n: subscribed entity=order\n\n", "id: 1\nevent: e\ndata: {}\n\n", "\ufeffdata\r\r", ": ping\r\nid: ~x\r\n\r\n", "data: a\r\ndata: b\n\r",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole, _ := parseAll(t, strings.NewReader(string(stream)))
		bytewise, _ := parseAll(t, iotest.OneByteReader(strings.NewReader(string(stream))))
		if diff := cmp.Diff(whole, bytewise, cmp.AllowUnexported(frame{})); diff != "" {
			t.Fatalf("the same bytes, read one by one (-whole +bytewise):\n%s", diff)
		}
		for _, got := range whole {
			if strings.ContainsAny(got.id+got.name, "\r\n") || strings.ContainsRune(got.text, '\r') || strings.Contains(got.id, "\x00") {
				t.Fatalf("frame %+v holds what a line cannot", got)
			}
		}
	})
}
