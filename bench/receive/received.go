package main

import (
	"encoding/json"
	"sync"
	"time"
)

// arrival is one delivery as it came, with its first request.
type arrival struct {
	Name    string `json:"name"`    // the last part of the path
	Subject string `json:"subject"` // of the row
	At      int64  `json:"at"`      // when the request was read whole, Unix nanoseconds
}

// counts is how much was accepted.
type counts struct {
	Requests int `json:"requests"`
	Distinct int `json:"distinct"` // by name and delivery id
}

// key is a delivery: a name may be told of ids that another is told of too.
type key struct{ name, id string }

// received remembers deliveries. It is safe for concurrent use.
type received struct {
	mu       sync.Mutex
	requests int
	seen     map[key]struct{}
	arrivals []arrival
	answer   chan struct{} // closed: answers are given
}

func newReceived() *received {
	r := &received{seen: map[key]struct{}{}, answer: make(chan struct{})}
	close(r.answer)
	return r
}

// take remembers a delivery that has just been read whole.
func (r *received) take(name, id, subject string) {
	at := time.Now().UnixNano()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	k := key{name, id}
	if _, twice := r.seen[k]; twice {
		return
	}
	r.seen[k] = struct{}{}
	r.arrivals = append(r.arrivals, arrival{name, subject, at})
}

// hold has answers wait; release gives them.
func (r *received) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.answer:
		r.answer = make(chan struct{})
	default:
	}
}

func (r *received) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.answer:
	default:
		close(r.answer)
	}
}

// answering is closed as long as, or when, answers are given.
func (r *received) answering() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answer
}

// tell returns the JSON that a GET is answered.
func (r *received) tell(path string) ([]byte, error) {
	switch path {
	case "/hold":
		r.hold()
	case "/go":
		r.release()
	case "/arrivals":
		r.mu.Lock()
		arrivals := r.arrivals[:len(r.arrivals):len(r.arrivals)]
		r.mu.Unlock()
		return json.Marshal(arrivals)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return json.Marshal(counts{Requests: r.requests, Distinct: len(r.seen)})
}
