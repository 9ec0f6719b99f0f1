package rowcast

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/transport"
)

// Transport takes channel events further: to a message broker, a file, another
// program (channels contract, section 2). Publish is called after the commit, by
// the instance that wrote the event, once, in the order of the change log of its
// datastore. Events of several datastores may come at once.
//
// The event's Item is the whole row: whoever embeds rowcast is trusted to show
// nobody what they may not read. It is shared and must not be changed.
//
// A transport delays nobody. Each has a queue of its own, of 1,024 events or 16
// MiB a datastore; what does not fit is dropped. ctx ends after 30 seconds, and
// when the server has waited long enough for it to stop. An error, a panic and a
// drop are counted and told to Config.OnPublishError; the event is not sent again,
// and one that a crash leaves behind is lost.
type Transport interface {
	// Name stands in metrics and errors. It must not be empty, and no other's.
	Name() string
	Publish(ctx context.Context, e event.ChannelEvent) error
}

// ErrDropped is what OnPublishError is told of an event that a transport's queue
// had no room for.
var ErrDropped = transport.ErrDropped

// transports are those of the config, or what is wrong with them.
func (c Config) transports() ([]transport.Transport, error) {
	var errs []error
	seen := map[string]bool{}
	list := make([]transport.Transport, 0, len(c.Transports))
	for i, t := range c.Transports {
		if t == nil || reflect.ValueOf(t).Kind() == reflect.Pointer && reflect.ValueOf(t).IsNil() {
			errs = append(errs, fmt.Errorf("transport %d is nil; remove it, or give one", i))
			continue
		}
		switch name := t.Name(); {
		case name == "":
			errs = append(errs, fmt.Errorf("transport %d has no name; have Name return one, which metrics and errors bear", i))
		case !utf8.ValidString(name):
			errs = append(errs, fmt.Errorf("transport %d: its name %q is no UTF-8; have Name return text", i, name))
		case seen[name]:
			errs = append(errs, fmt.Errorf("transport %d: another one is named %q too; rename one", i, name))
		default:
			seen[name] = true
			list = append(list, t)
		}
	}
	return list, errors.Join(errs...)
}
