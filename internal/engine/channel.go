package engine

import (
	"slices"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/schema"
)

// channel is what the engine knows of an entity's channels.
type channel struct {
	defaults *schema.Realtime // of the boot document
	guard    []int            // fields whose cells the log keeps for channels
}

// compileChannel returns nil where the entity has no channel. Which events are
// published is judged by each write: an operation may have settings of its own.
func compileChannel(policy *access.Policy, defaults *schema.Realtime) *channel {
	e := policy.Entity
	if !e.HasChannel(defaults) {
		return nil
	}
	columns := slices.Clone(policy.RuleColumns())
	if e.Realtime != nil && e.Realtime.Filterable {
		for _, i := range e.Filter.Fields {
			if e.Realtime.Subscribes(i) {
				columns = append(columns, i)
			}
		}
	}
	slices.Sort(columns)
	return &channel{defaults: defaults, guard: slices.Compact(columns)}
}

// channelRow gathers the one log row of the change that channels tell of, where
// its event is published there (channels contract, sections 1 and 2). An
// operation may be told as deleted though the row stands: a row is then handed
// on to nobody, as with any delete.
func (w *writing) channelRow(ent *entity, g *access.Grant, c *change) {
	if ent.channel == nil || !ent.Publishes(schema.RealtimeEvent(c.fine), c.custom, ent.channel.defaults) {
		return
	}
	row := w.logRow(ent, "", ent.channel.guard, g, c)
	if schema.RealtimeEvent(c.fine) == schema.RealtimeDeleted {
		row.Operation, row.Row, row.Guard.After = schema.Delete, nil, nil
	}
	w.log = append(w.log, row)
}
