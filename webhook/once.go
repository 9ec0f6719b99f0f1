package webhook

import (
	"context"
	"net/http"
	"sync"
)

// turns lets one request of a delivery go on at a time. The zero value is ready.
type turns struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when the turn ends
}

// take waits for the turn of id; its error is that of ctx.
func (t *turns) take(ctx context.Context, id string) error {
	for {
		busy := t.try(id)
		if busy == nil {
			return nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// try takes the turn, or returns what ends the one that is taken.
func (t *turns) try(id string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if busy, taken := t.held[id]; taken {
		return busy
	}
	if t.held == nil {
		t.held = map[string]chan struct{}{}
	}
	t.held[id] = make(chan struct{})
	return nil
}

func (t *turns) end(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.held[id])
	delete(t.held, id)
}

// answer remembers a delivery as soon as its handler says 2xx, before the sender
// can know of it. It has no Unwrap: whoever could flush past it would tell the
// sender first.
type answer struct {
	http.ResponseWriter
	remember func() error
	told     bool
	err      error // of remember; nothing of the handler's answer is sent then
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.told {
		return
	}
	if status < http.StatusOK && status != http.StatusSwitchingProtocols { // an interim answer
		a.ResponseWriter.WriteHeader(status)
		return
	}
	a.told = true
	if status/100 == 2 {
		a.err = a.remember()
	}
	if a.err == nil {
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(text []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.err != nil {
		return 0, a.err
	}
	return a.ResponseWriter.Write(text)
}
