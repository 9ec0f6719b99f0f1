package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// started is a receiver with a client.
type started struct {
	t      *testing.T
	url    string
	client *http.Client
}

func start(t *testing.T) *started {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, listener) }()
	s := &started{t: t, url: "http://" + listener.Addr().String(), client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.client.CloseIdleConnections()
	})
	return s
}

// post returns the status of a delivery's answer; 0: there was none.
func (s *started) post(ctx context.Context, path, id, subject string) int {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader(`{"id":"x","subject":"`+subject+`"}`))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Kisai-Delivery", id)
	answer, err := s.client.Do(req)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func (s *started) get(path string, into any) {
	s.t.Helper()
	answer, err := s.client.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
}

func TestWhatIsAcceptedIsCountedOnceForEachName(t *testing.T) {
	s := start(t)
	before := time.Now().UnixNano()
	for _, d := range [][3]string{{"a", "U1", "row-1"}, {"b", "U1", "row-1"}, {"a", "U1", "row-1"}, {"a", "U2", "row-2"}} {
		if got := s.post(t.Context(), "/accept/"+d[0], d[1], d[2]); got != http.StatusNoContent {
			t.Errorf("%v is answered %d, want 204", d, got)
		}
	}
	var c counts
	if s.get("/counts", &c); c != (counts{Requests: 4, Distinct: 3}) {
		t.Errorf("got %+v, want four requests of three deliveries", c)
	}
	var all []arrival
	s.get("/arrivals", &all)
	if len(all) != 3 || all[2].Name != "a" || all[2].Subject != "row-2" || all[2].At < before {
		t.Errorf("got %+v", all)
	}
}

func TestWhoMisbehavesRemembersNothing(t *testing.T) {
	s := start(t)
	if got := s.post(t.Context(), "/fail/a", "U1", "row-1"); got != http.StatusInternalServerError {
		t.Errorf("got %d, want 500", got)
	}
	for _, way := range []string{"/hole/a", "/late/a"} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if got := s.post(ctx, way, "U1", "row-1"); got != 0 {
			t.Errorf("%s is answered %d, want no answer", way, got)
		}
		cancel()
	}
	var c counts
	if s.get("/counts", &c); c != (counts{}) {
		t.Errorf("got %+v, want nothing", c)
	}
}

func TestAHeldAnswerComesWhenItIsLetGo(t *testing.T) {
	s := start(t)
	var c counts
	s.get("/hold", &c)
	answered := make(chan int, 1)
	go func() { answered <- s.post(t.Context(), "/accept/a", "U1", "row-1") }()
	for c.Requests == 0 {
		s.get("/counts", &c)
	}
	select {
	case got := <-answered:
		t.Fatalf("answered %d while it is held", got)
	default:
	}
	s.get("/go", &c)
	if got := <-answered; got != http.StatusNoContent {
		t.Errorf("got %d, want 204", got)
	}
}
