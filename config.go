package rowcast

import (
	"log/slog"
	"os"
	"time"

	"github.com/rowcast/rowcast/event"
)

// Config says what to serve.
type Config struct {
	// File is the boot document. Required.
	File string
	// Env answers ${NAME} in the boot document. Defaults to os.LookupEnv.
	Env func(name string) (string, bool)
	// Logger takes what there is to tell. Defaults to one on stderr as the boot
	// document's log section says.
	Logger *slog.Logger
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Operations are custom operations done in Go, beside those that schemas
	// declare whole.
	Operations []Operation
	// Transports are told of what channels are told.
	Transports []Transport
	// OnPublishError is told of each event that a transport did not take: it
	// failed, panicked, or had no room (ErrDropped). It is called beside everything
	// else, for one event of a datastore at a time, and where it is slow some
	// reports are left out; the counters have all. Defaults to a line in the log.
	OnPublishError func(transport string, e event.ChannelEvent, err error)
}

func (c Config) withDefaults() Config {
	if c.Env == nil {
		c.Env = os.LookupEnv
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}
