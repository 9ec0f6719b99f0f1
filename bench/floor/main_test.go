package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAFrameHasTheBytesAskedFor(t *testing.T) {
	for _, size := range []int{200, 420, 5000} {
		if got := len(frame(size)); got != size {
			t.Errorf("got %d bytes, want %d", got, size)
		}
	}
}

func TestAPostReachesEveryStream(t *testing.T) {
	server := httptest.NewServer(newFloor(frame(200)).routes())
	defer server.Close()
	var streams []*bufio.Reader
	for range 3 {
		resp, err := http.Get(server.URL + "/subscribe/order")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		stream := bufio.NewReader(resp.Body)
		readUntil(t, stream, ": subscribed\n")
		streams = append(streams, stream)
	}
	resp, err := http.Post(server.URL+"/data/order", "application/json", strings.NewReader("{}"))
	if err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("got %v, %v; want 201", resp, err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	for _, stream := range streams {
		readUntil(t, stream, "event: entity.create\n")
	}
}

func readUntil(t *testing.T, stream *bufio.Reader, want string) {
	t.Helper()
	for {
		line, err := stream.ReadString('\n')
		if err != nil {
			t.Fatalf("no %q: %v", want, err)
		}
		if line == want {
			return
		}
	}
}
