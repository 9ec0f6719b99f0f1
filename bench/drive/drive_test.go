package drive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if writer, err := child(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		panic(err)
	} else if writer {
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestAnotherProcessWritesTheSame(t *testing.T) {
	e, addr := newEcho(t)
	e.enough = make(chan struct{})
	written, err := WriteApart(t.Context(), Writing{Addr: addr, Path: "/", Writers: 2, Duration: 300 * time.Millisecond, Body: `{"n":%d,"by":"%s"}`,
		Callers: []Caller{{Name: "ann"}, {Name: "bob"}}})
	if err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(written.IDs) != len(e.frames) || len(written.Starts) != len(written.IDs) || len(written.IDs) < 2 {
		t.Errorf("got %d ids and %d starts of %d rows", len(written.IDs), len(written.Starts), len(e.frames))
	}
	for _, want := range []string{`{"n":0,"by":"ann"}`, `{"n":1,"by":"bob"}`} {
		if !slices.Contains(e.bodies, want) {
			t.Errorf("no body %s in %q", want, e.bodies[:2])
		}
	}
}

const preamble = "retry: 2000\n: subscribed entity=order\n\n"

func frameOf(id, subject string) string {
	return "id: " + id + "\nevent: entity.create\ndata: {\"subject\":\"" + subject + "\"}\n\n"
}

func TestTheScannerReadsAChunkedStreamCutAnywhere(t *testing.T) {
	stream := preamble + frameOf("1", "a") + ": ping\nid: ~p\n\n" + "id: ~q\nevent: stream.gap\ndata: {}\n\n" + frameOf("2", "b")
	answer := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, chunk := range []string{stream[:60], stream[60:75], stream[75:]} {
		answer += fmt.Sprintf("%x;x=y\r\n%s\r\n", len(chunk), chunk)
	}
	for size := 1; size < len(answer); size++ {
		var got []string
		s := scanner{onFrame: func(id, data []byte) { got = append(got, string(id)+string(data)) }}
		for rest := answer; rest != ""; {
			piece := rest[:min(size, len(rest))]
			rest = rest[len(piece):]
			if err := s.feed([]byte(piece)); err != nil {
				t.Fatalf("pieces of %d: %v", size, err)
			}
		}
		want := `[1{"subject":"a"} 2{"subject":"b"}]`
		if fmt.Sprint(got) != want || s.gaps != 1 || !s.subscribed {
			t.Fatalf("pieces of %d: got %v, %d gaps, subscribed %v; want %s, 1, true", size, got, s.gaps, s.subscribed, want)
		}
	}
}

func TestTheScannerSaysWhyItStops(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 403 Forbidden\r\n\r\n{\"code\":\"forbidden\"}":              "forbidden",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n":         "a chunk of size",
		"HTTP/1.1 200 OK\r\ntransfer-encoding: CHUNKED\r\n\r\n0\r\n\r\n":      errEnded.Error(),
		"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: yyyyyyyyyyyyyyy\r\n", 5e3): "without an end",
	} {
		s := scanner{onFrame: func(_, _ []byte) {}}
		if err := s.feed([]byte(answer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want it to say %q", answer, err, want)
		}
	}
}

// echo is a server that stores what is posted in memory and tells every stream.
type echo struct {
	mu      sync.Mutex
	changed *sync.Cond
	frames  []string
	bodies  []string
	spoil   func(stream int, frames []string) []string // what a stream is told in the place of the rest
	streams int
	closed  bool
	enough  chan struct{} // closed after twenty rows
}

func newEcho(t *testing.T) (*echo, string) {
	t.Helper()
	e := &echo{}
	e.changed = sync.NewCond(&e.mu)
	server := httptest.NewServer(e)
	t.Cleanup(func() {
		e.mu.Lock()
		e.closed = true
		e.mu.Unlock()
		e.changed.Broadcast()
		server.Close()
	})
	return e, strings.TrimPrefix(server.URL, "http://")
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.Method == http.MethodPost {
		e.bodies = append(e.bodies, string(body))
		id := strconv.Itoa(1000 + len(e.frames))
		e.frames = append(e.frames, frameOf(id, "row"+id))
		e.changed.Broadcast()
		if len(e.frames) == 20 {
			close(e.enough)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":"row`+id+`"}`)
		return
	}
	stream := e.streams
	e.streams++
	_, _ = io.WriteString(w, preamble)
	for sent := 0; !e.closed && r.Context().Err() == nil; {
		_ = http.NewResponseController(w).Flush()
		for len(e.frames) == sent && !e.closed && r.Context().Err() == nil {
			stop := context.AfterFunc(r.Context(), e.changed.Broadcast)
			e.changed.Wait()
			stop()
		}
		rest := e.frames[sent:]
		sent = len(e.frames)
		if e.spoil != nil {
			rest = e.spoil(stream, rest)
		}
		_, _ = io.WriteString(w, strings.Join(rest, ""))
	}
}

// load opens three streams and posts at least twenty rows.
func load(t *testing.T, e *echo, addr string) (*Swarm, Written) {
	t.Helper()
	swarm, err := Open(t.Context(), Gathering{N: 3, Parallel: 1, Timed: true, Opening: func(int) Opening { return Opening{Addr: addr, Path: "/"} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(swarm.Close)
	e.enough = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-e.enough
		cancel()
	}()
	written, err := Write(ctx, Writing{Addr: addr, Path: "/", Writers: 1, Duration: time.Minute, Body: "{}", Callers: []Caller{{Name: "ann"}}})
	if err != nil {
		t.Fatal(err)
	}
	return swarm, written
}

func TestASwarmSeesEveryRowOnce(t *testing.T) {
	e, addr := newEcho(t)
	swarm, written := load(t, e, addr)
	want := 3 * len(written.IDs)
	if !swarm.Await(t.Context(), uint64(want), 5*time.Second) {
		t.Fatalf("got %d frames, want %d", swarm.Frames(), want)
	}
	swarm.Close()
	if losses := swarm.Verify(written.IDs); losses != (Losses{}) || len(written.IDs) < 20 {
		t.Errorf("got %d rows and %+v, want at least 20 and nothing lost", len(written.IDs), losses)
	}
	latencies := swarm.Latencies(written)
	if len(latencies) != want || Quantile(latencies, 0) <= 0 {
		t.Errorf("got %d latencies, the least %v; want %d, each above 0", len(latencies), Quantile(latencies, 0), want)
	}
}

func TestASwarmFindsWhatIsLost(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(stream int, frames []string) []string
		want  Losses
	}{
		"a frame kept from one stream": {drop(1, "1005"), Losses{Unlike: 1}},
		"a frame kept from the first":  {drop(0, "1005"), Losses{Unlike: 2, Missing: 1}},
		"a frame told twice to all": {func(_ int, frames []string) []string {
			return replace(frames, "1005", frameOf("1005", "row1005")+frameOf("1005", "row1005"))
		}, Losses{Doubled: 1, Descending: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			e, addr := newEcho(t)
			e.spoil = test.spoil
			swarm, written := load(t, e, addr)
			swarm.Await(t.Context(), 1000, 200*time.Millisecond)
			swarm.Close()
			if losses := swarm.Verify(written.IDs); losses != test.want {
				t.Errorf("got %+v, want %+v", losses, test.want)
			}
		})
	}
}

func drop(stream int, id string) func(int, []string) []string {
	return func(to int, frames []string) []string {
		if to != stream {
			return frames
		}
		return replace(frames, id, "")
	}
}

func replace(frames []string, id, by string) []string {
	var out []string
	for _, frame := range frames {
		if strings.Contains(frame, id) {
			frame = by
		}
		out = append(out, frame)
	}
	return out
}

func TestAWriterReadsWhateverShapeTheAnswerHas(t *testing.T) {
	status := http.StatusCreated
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(status)
		if strings.Contains(string(body), "chunked") {
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = w.Write(body)
	}))
	defer server.Close()
	writer, err := Dial(t.Context(), strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	for _, body := range []string{`{"id":"1"}`, `{"id":"chunked"}`, ``, `{"id":"3"}`} {
		if got, err := writer.Post("/data/order", "token", []byte(body)); err != nil || string(got) != body {
			t.Errorf("body %s: got %s, %v", body, got, err)
		}
	}
	status = http.StatusUnprocessableEntity
	if _, err := writer.Post("/data/order", "", []byte(`{"code":"invalid"}`)); err == nil || !strings.Contains(err.Error(), "invalid") {
		t.Errorf("got %v, want what the server said", err)
	}
}

func TestARefusedStreamFailsTheOpening(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := Open(t.Context(), Gathering{N: 4, Opening: func(int) Opening {
		return Opening{Addr: strings.TrimPrefix(server.URL, "http://"), Path: "/subscribe/none"}
	}})
	if err == nil || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v, want the server's 404", err)
	}
}

func TestQuantile(t *testing.T) {
	var samples []time.Duration
	for i := range 100 {
		samples = append(samples, time.Duration(100-i))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := Quantile(samples, q); got != want {
			t.Errorf("quantile %v: got %d, want %d", q, got, want)
		}
	}
}
