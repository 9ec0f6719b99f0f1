package stream

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/rowcast/rowcast/internal/hub"
	"github.com/rowcast/rowcast/internal/store"
)

// Reasons of a stream.gap.
const (
	gapUnknown = "unknown" // no such event, or no bookmark of this datastore
	gapExpired = "expired" // retention has removed what stood after it
	gapReset   = "reset"   // the log is another one: a backup was restored, a standby took over
)

// resumption says where a stream begins.
type resumption struct {
	start hub.Start
	gap   string // the reason, or "" without a gap
}

// openWait is how long a stream waits for a log that is not open yet.
const openWait = 5 * time.Second

// errNotOpen means that the store could not be asked.
var errNotOpen = errors.New("log is not open")

// begin finds out where the stream begins. An error means that the store cannot
// tell now.
func (st *Stream) begin(ctx context.Context) (resumption, error) {
	if st.unavailable {
		return resumption{}, errNotOpen
	}
	if err := st.server.ready(ctx); err != nil {
		return resumption{}, err
	}
	place, err := st.resume(ctx)
	if err != nil && ctx.Err() == nil {
		st.server.config.Logger.Warn("stream cannot be resumed, asking its client to come back", "err", err, "entity", st.about.Entity.Name)
	}
	return place, err
}

// ready waits until the tail knows where it starts: what is committed before
// that is handed on to nobody, and a stream that was live already would miss it.
func (s *Server) ready(ctx context.Context) error {
	timer := time.NewTimer(openWait)
	defer timer.Stop()
	select {
	case <-s.config.Tail.Ready():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errNotOpen
	}
}

// resume finds the place that the client's last event id stands for. An id that
// stands for none begins live, with a gap.
func (st *Stream) resume(ctx context.Context) (resumption, error) {
	epoch := st.server.config.Hub.Epoch()
	if st.lastEventID == "" {
		return resumption{start: st.server.live(ctx, epoch)}, nil
	}
	var at store.Position
	var gap string
	err := st.server.config.Store.View(ctx, func(r store.Reader) (err error) {
		at, gap, err = st.server.locate(r, st.lastEventID)
		return err
	})
	switch {
	case err != nil:
		return resumption{}, err
	case gap != "":
		return resumption{start: st.server.live(ctx, epoch), gap: gap}, nil
	default:
		return resumption{start: hub.Start{From: at, CatchUp: true, Epoch: epoch}}, nil
	}
}

// live is the place of a stream that begins now.
func (s *Server) live(ctx context.Context, epoch int64) hub.Start {
	s.config.Tail.Await(ctx)
	return hub.Start{From: s.config.Tail.Horizon(), Epoch: epoch}
}

func (s *Server) locate(r store.Reader, id string) (at store.Position, gap string, err error) {
	floor, err := r.Floor()
	if err != nil {
		return at, "", err
	}
	if strings.HasPrefix(id, bookmarkMark) {
		return s.locateBookmark(r, id, floor)
	}
	seq, found, err := r.Find(id)
	switch {
	case err != nil:
		return at, "", err
	case found:
		return store.Position{Seq: seq, EventID: id}, "", nil
	case id == floor.EventID:
		return floor, "", nil
	case older(id, floor.EventID):
		return at, gapExpired, nil
	default:
		return at, gapUnknown, nil
	}
}

func (s *Server) locateBookmark(r store.Reader, id string, floor store.Position) (at store.Position, gap string, err error) {
	at, err = s.sealer.open(id)
	switch {
	case err != nil:
		return at, gapUnknown, nil //nolint:nilerr // the stream itself says that it could not be resumed
	case at.Seq < floor.Seq:
		return at, gapExpired, nil
	case at == floor || at.Seq == 0:
		return at, "", nil
	}
	stands, found, err := r.At(at.Seq)
	if err == nil && (!found || stands != at.EventID) {
		gap = gapReset
	}
	return at, gap, err
}

// older reports an event id drawn before another: ULIDs compare by their time.
func older(id, than string) bool {
	_, err := ulid.ParseStrict(id)
	return err == nil && id < than
}
