// Command floor is the least that a server of N event streams can do, to
// measure a real one against: it keeps plain net/http connections open, and a
// POST makes it write one ready frame to each of them and flush. It stores
// nothing, decides nothing and encodes nothing.
//
//	GET  /subscribe/{entity}   an event stream
//	POST /data/{entity}        writes the frame to every stream, then answers 201
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	size := flag.Int("bytes", 400, "length of a frame")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *listen, *size)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, listen string, size int) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           newFloor(frame(size)).routes(),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Printf("listening on http://%s\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// frame returns a frame of size bytes, shaped like a real one.
func frame(size int) []byte {
	const head = "id: 01M2P1R18V26CMVBZ1DC0AS1Z1\nevent: entity.create\ndata: {\"subject\":\"0\",\"fill\":\""
	const tail = "\"}\n\n"
	return []byte(head + strings.Repeat("x", max(0, size-len(head)-len(tail))) + tail)
}

// floor holds the open streams. Writes to one stream are in turn; streams of
// one POST are written one after the other, POSTs beside each other.
type floor struct {
	frame []byte

	mu      sync.RWMutex
	streams map[*stream]struct{}
}

type stream struct {
	mu         sync.Mutex
	writer     http.ResponseWriter
	controller *http.ResponseController
}

func newFloor(frame []byte) *floor {
	return &floor{frame: frame, streams: map[*stream]struct{}{}}
}

func (f *floor) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /subscribe/{entity}", f.subscribe)
	mux.HandleFunc("POST /data/{entity}", f.publish)
	return mux
}

func (f *floor) subscribe(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	s := &stream{writer: w, controller: http.NewResponseController(w)}
	f.add(s)
	<-r.Context().Done()
	f.mu.Lock()
	delete(f.streams, s)
	f.mu.Unlock()
	s.mu.Lock() // a write that has begun ends before the handler does
	defer s.mu.Unlock()
	s.writer = nil
}

// add registers s before its preamble can be read, and keeps frames behind it.
func (f *floor) add(s *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.mu.Lock()
	f.streams[s] = struct{}{}
	f.mu.Unlock()
	s.send([]byte("retry: 2000\n: subscribed\n\n"))
}

func (f *floor) publish(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	f.mu.RLock()
	for s := range f.streams {
		s.write(f.frame)
	}
	f.mu.RUnlock()
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"id":"0"}`)
}

func (s *stream) write(frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writer != nil {
		s.send(frame)
	}
}

// send writes and flushes, with s.mu held; a broken stream ends by its own context.
func (s *stream) send(frame []byte) {
	if _, err := s.writer.Write(frame); err == nil {
		_ = s.controller.Flush()
	}
}
