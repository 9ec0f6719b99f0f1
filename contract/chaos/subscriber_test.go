package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/servertest"
)

// frame is one event as it came.
type frame struct {
	id, event string
	doc       struct {
		ID, Type, Entity, Operation, Subject, Tenant string
		Data                                         json.RawMessage
	}
}

// subscriber follows one kind of stream across all that befalls it.
type subscriber struct {
	*kind
	number     int
	url, token string
	rng        *rand.Rand
	calm       atomic.Bool   // it hangs up no more
	placed     chan struct{} // closed when it has an id to come back with
	done       chan struct{} // closed when it has seen the last frame

	// What follows belongs to its goroutine until done is closed.
	frames      []frame
	mark        string // the latest bookmark, where it is later than any frame
	connections int
	bookmarked  int
	wrong       []string
	diary       []string // what befell its connections, to be read where something is missing
}

func (s *subscriber) String() string {
	return fmt.Sprintf("subscriber %d (%s of %s/%s%s)", s.number, s.user, s.entity, s.name, s.query)
}

// listen starts a subscriber of each kind and waits until each has its place.
func listen(ctx context.Context, t *testing.T, address string, tokens map[string]string, seed uint64, running *sync.WaitGroup) []*subscriber {
	t.Helper()
	var all []*subscriber
	for i, k := range kinds() {
		s := &subscriber{
			kind: k, number: i, url: address, token: tokens[k.user], rng: rand.New(rand.NewPCG(seed, uint64(100+i))),
			placed: make(chan struct{}), done: make(chan struct{}),
		}
		all = append(all, s)
		running.Go(func() { s.run(ctx) })
	}
	for _, s := range all {
		select {
		case <-s.placed:
		case <-time.After(30 * time.Second):
			t.Fatalf("%s gets no place", s)
		}
	}
	return all
}

func (s *subscriber) run(ctx context.Context) {
	for ctx.Err() == nil && s.connect(ctx) {
		away := time.Duration(20+s.rng.IntN(300)) * time.Millisecond
		if !s.calm.Load() && s.rng.IntN(6) == 0 {
			away *= 12 // long enough to miss more than one page of the log
		}
		servertest.Pass(ctx, away)
	}
}

// since is what it comes back with: its last frame or a bookmark behind it.
func (s *subscriber) since() string {
	if s.mark != "" && (len(s.frames) == 0 || s.rng.IntN(2) == 0) {
		s.bookmarked++
		return s.mark
	}
	if len(s.frames) == 0 {
		return ""
	}
	return s.frames[len(s.frames)-1].id
}

// connect opens one connection and reads until something ends it. It returns
// false when there is nothing more to see.
func (s *subscriber) connect(ctx context.Context) (again bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var conn *net.TCPConn
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			conn = c.(*net.TCPConn)
			if s.number%3 == 0 {
				_ = conn.SetReadBuffer(64 << 10) // so that it is soon full
			}
		}
		return c, err
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/subscribe/"+s.entity+"?heartbeat=1s&name="+s.name+s.query, http.NoBody)
	if err != nil {
		s.wrong = append(s.wrong, err.Error())
		return false
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	since := s.since()
	if since != "" {
		req.Header.Set("Last-Event-ID", since)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return true // the server is away
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode < 500 {
			s.wrong = append(s.wrong, fmt.Sprintf("refused with %d", resp.StatusCode))
		}
		return true
	}
	s.connections++
	s.note("opened since %s, after frame %d", since, len(s.frames))
	defer func() { s.note("ended after frame %d", len(s.frames)) }()
	return s.read(ctx, bufio.NewReader(resp.Body), conn)
}

func (s *subscriber) note(format string, args ...any) {
	s.diary = append(s.diary, time.Now().Format("05.000 ")+fmt.Sprintf(format, args...))
}

func (s *subscriber) read(ctx context.Context, r *bufio.Reader, conn *net.TCPConn) (again bool) {
	for {
		f, err := block(r)
		if err != nil {
			return true
		}
		switch {
		case f.event != "":
			s.take(f)
		case f.id != "":
			s.mark = f.id
		}
		if s.complete(f) {
			close(s.done)
			return false
		}
		if s.mark == "" && len(s.frames) == 0 {
			continue // no place to come back to
		}
		select {
		case <-s.placed:
		default:
			close(s.placed)
		}
		if !s.calm.Load() && s.tire(ctx, conn, f) {
			return true
		}
	}
}

// tire decides what it does after a block: mostly to read on, but a heartbeat
// is a good moment to go, since it is there to come back with.
func (s *subscriber) tire(ctx context.Context, conn *net.TCPConn, f frame) (leave bool) {
	if f.event == "" && s.rng.IntN(5) == 0 {
		return true
	}
	switch s.rng.IntN(500) {
	case 0:
		return true
	case 1:
		_ = conn.SetLinger(0) // a reset
		return true
	case 2, 3:
		s.note("reads nothing for a while after frame %d", len(s.frames))
		servertest.Pass(ctx, time.Duration(s.rng.IntN(2000))*time.Millisecond)
		return s.rng.IntN(2) == 0
	}
	return false
}

func (s *subscriber) take(f frame) {
	if f.event == "stream.gap" {
		s.wrong = append(s.wrong, "a gap was told, after frame "+strconv.Itoa(len(s.frames)))
		return
	}
	s.frames, s.mark = append(s.frames, f), ""
}

// complete reports whether this is the last frame it waits for.
func (s *subscriber) complete(f frame) bool {
	op := "update"
	if !slices.Contains(s.ops, op) {
		op = "create"
	}
	return f.doc.Subject == "end-"+s.user && f.doc.Operation == op
}

func (s *subscriber) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		t.Fatalf("%s never sees the end", s)
	}
}

// block reads what stands before a blank line.
func block(r *bufio.Reader) (f frame, err error) {
	b, err := servertest.ReadBlock(r)
	if err != nil || b.Data == "" {
		return frame{id: b.ID}, err
	}
	f = frame{id: b.ID, event: b.Event}
	return f, json.Unmarshal([]byte(b.Data), &f.doc)
}
