// Package stream is one open connection, of a change stream or of a channel:
// judged, opened, resumed, kept live, caught up and closed, to the byte of the
// contracts.
//
// Guarantees. A stream is registered before its preamble is written: who has
// read the preamble misses nothing after it. Frames leave in log order, each
// once; a stream that fell behind reads the log until it has caught up, on the
// same connection. A gap that cannot be filled is said in-band. Every exit
// unregisters and releases the buffer.
//
// A Server is safe for concurrent use; a Stream belongs to its handler's
// goroutine and starts none. It may import fault, value, document, schema,
// predicate, script, access, store, sse, engine, tail and hub.
package stream

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/hub"
	"github.com/rowcast/rowcast/internal/script"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/schema"
)

// Config is what the streams of one unit stand on.
type Config struct {
	Tenant       string
	Model        *schema.Model
	Entities     []*schema.Entity // of this datastore
	Realtime     *schema.Realtime // the boot document's defaults for channels; nil: none
	Engine       *engine.Engine
	Store        store.Store
	Tail         *tail.Tail
	Hub          *hub.Hub
	Secret       []byte           // 32 bytes, kept in the datastore: seals bookmarks
	Limit        *Limit           // of the whole process
	WriteTimeout time.Duration    // for each write to a client; defaults to 10 s
	Patience     time.Duration    // how long a stream bears a store it cannot read; defaults to 60 s
	Now          func() time.Time // defaults to time.Now
	Logger       *slog.Logger     // defaults to slog.Default()
}

// Server opens streams on one unit.
type Server struct {
	config  Config
	sealer  sealer
	sources map[*schema.Subscription][]source
}

// New prepares the subscriptions of the model. The error is document.Refusals
// for a filter that does not compile.
func New(c Config) (*Server, error) {
	if c.WriteTimeout == 0 {
		c.WriteTimeout = 10 * time.Second
	}
	if c.Patience == 0 {
		c.Patience = time.Minute
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Limit == nil {
		c.Limit = &Limit{}
	}
	seal, err := newSealer(c.Secret)
	if err != nil {
		return nil, fmt.Errorf("sealing bookmarks: %w", err)
	}
	s := &Server{config: c, sealer: seal, sources: map[*schema.Subscription][]source{}}
	var refusals document.Refusals
	for _, e := range c.Entities {
		for i := range e.Subscriptions {
			refusals = append(refusals, s.prepare(&e.Subscriptions[i])...)
		}
	}
	if len(refusals) > 0 {
		return nil, refusals
	}
	return s, nil
}

func (s *Server) prepare(sub *schema.Subscription) (refusals document.Refusals) {
	topic, _ := s.config.Model.Topic(sub.Source)
	for _, p := range topic.Publishers {
		src := source{entity: p.Entity, publisher: p.Publisher}
		if sub.Filter != nil {
			filter, rs := script.CompileFilter(p.Entity, *sub.Filter, p.Publisher.Keeps)
			refusals, src.filter = append(refusals, rs...), filter
		}
		s.sources[sub] = append(s.sources[sub], src)
	}
	return refusals
}
