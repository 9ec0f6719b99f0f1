package hub

import (
	"slices"

	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/render"
	"github.com/rowcast/rowcast/internal/sse"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
)

// Listening says how a channel is opened.
type Listening struct {
	Grant   *access.Grant
	ID      string               // the row's id as text; "": all rows of the entity
	Keep    func(field int) bool // what leaves of an item, as far as the grant reads it
	Filter  *predicate.Tree      // nil: every row
	Changed []int                // updates are told only where one of these fields differs; nil: always
	Leave   bool                 // tell when a row goes out of sight
}

// Channel is the View of a channel (channels contract, section 3).
type Channel struct {
	about   About
	eye     eye
	leave   bool
	keeps   []bool
	changed []string
	key     string // equal for those who see the same of a row
}

// NewChannel returns the view of who listens to a channel.
func NewChannel(l Listening) *Channel {
	e := l.Grant.Policy.Entity
	c := &Channel{
		about: About{Entity: e, Channel: e.Name, Principal: l.Grant.Principal, lane: lane{entity: e.Name, id: l.ID}},
		eye:   newEye(l.Grant), leave: l.Leave, keeps: make([]bool, len(e.Fields)),
	}
	if l.ID != "" {
		c.about.Channel += "." + l.ID
	}
	c.eye.values = true
	if l.Filter != nil {
		c.eye.filter = rowFilter{l.Filter.Bind(l.Grant.Caller())}
		c.eye.judgedFrom = append(slices.Clone(c.eye.judgedFrom), l.Filter.Columns()...)
	}
	for _, i := range l.Changed {
		c.changed = append(c.changed, e.Fields[i].Name)
	}
	key := []byte(l.Grant.ViewKey())
	for i := range e.Fields {
		if c.keeps[i] = l.Grant.Reads(i) && l.Keep(i); !c.keeps[i] {
			key[i] = '-'
		}
	}
	c.key = string(key)
	return c
}

// rowFilter is a subscribe-time filter. Unknown is no match, as in a list.
type rowFilter struct{ *predicate.Predicate }

func (f rowFilter) match(_ *store.LogRow, cells store.Row) predicate.Truth {
	return truth(f.Eval(cells) == predicate.True)
}

// About implements View.
func (c *Channel) About() About { return c.about }

// Judge implements View. A filter does not judge deletes (channels contract,
// section 4.3): what was deleted is told to whoever could read it. Changed
// judges updates alone: that a row is there, or gone, is always told.
func (c *Channel) Judge(e *tail.Entry) Verdict {
	if e.Log.Topic != "" || e.Entity != c.about.Entity || (c.about.lane.id != "" && e.Log.Subject != c.about.lane.id) {
		return Nothing
	}
	v := c.eye.judge(e, c.leave)
	if v == Tell && c.changed != nil && event.ChannelOp(e.Log.Fine).Changes() && !c.differs(e.Log) {
		return Nothing
	}
	return v
}

func (c *Channel) differs(row *store.LogRow) bool {
	for _, name := range row.Differs {
		if slices.Contains(c.changed, name) {
			return true
		}
	}
	return false
}

// Frame implements View.
func (c *Channel) Frame(e *tail.Entry, v Verdict) []byte {
	key := frameKey{leave: v == TellLeave}
	op := event.ChannelOp(e.Log.Fine)
	if key.leave {
		op = event.Left
	}
	if !op.Gone() {
		key.view = c.key
	}
	return e.Encoded(key, func() []byte { return c.encode(e, op) })
}

func (c *Channel) encode(e *tail.Entry, op event.ChannelOp) []byte {
	ev := event.ChannelEvent{Event: op, Entity: e.Log.Entity, ID: e.Log.Subject, OccurredAt: e.Log.Time}
	if !op.Gone() && e.Row != nil {
		ev.Item = render.Row(nil, c.eye.grant, c.keep, e.Row)
	}
	if op.Changes() {
		ev.Changed = c.sent(e.Log)
	}
	return sse.AppendFrame(nil, e.Log.EventID, string(op), ev.AppendJSON(nil))
}

func (c *Channel) keep(field int) bool { return c.keeps[field] }

// sent returns the names that were sent, narrowed as the item is: the name of a
// field that does not leave tells that it was written.
func (c *Channel) sent(row *store.LogRow) []string {
	kept := make([]string, 0, len(row.Sent))
	for _, name := range row.Sent {
		if i, ok := c.about.Entity.Field(name); ok && c.keeps[i] {
			kept = append(kept, name)
		}
	}
	return kept
}
