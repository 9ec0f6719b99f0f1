// Command transport-file serves a boot document like rowcast serve, and appends
// every event that channels are told to a file, a line of JSON each: what a
// transport to a message broker would look like.
//
// The file has the events of this process in the order of the change log, one
// line an event, and is synced before the next one is taken. It imports event and
// the root package, as a program of another module would.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/rowcast/rowcast"
	"github.com/rowcast/rowcast/event"
)

// journal appends events to a file. It is one transport; a program may register
// several, and none delays another.
type journal struct{ file *os.File }

// Name stands in the metrics: rowcast_transport_published_total{transport="journal"}.
func (journal) Name() string { return "journal" }

// Publish appends one event. The event comes with the whole row, so the file is
// for those who may read all of them. Datastores publish at the same time, but an
// append of one line is one write: a lock is not needed.
func (j journal) Publish(_ context.Context, e event.ChannelEvent) error {
	line, err := e.MarshalJSON()
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return err
	}
	return j.file.Sync()
}

func main() {
	config := flag.String("config", "examples/board/rowcast.yaml", "the boot document")
	out := flag.String("out", "events.jsonl", "the file that events are appended to")
	listen := flag.String("listen", "127.0.0.1:8080", "where to serve; :0 takes any free port")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *config, *out, *listen); err != nil {
		log.Fatal(err) //nolint:gocritic // the signals need no giving back when the process ends
	}
}

func run(ctx context.Context, config, out, listen string) (err error) {
	file, err := os.OpenFile(out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the operator says where
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	data, err := rowcast.Open(ctx, rowcast.Config{
		File:       config,
		Transports: []rowcast.Transport{journal{file}},
		OnPublishError: func(transport string, e event.ChannelEvent, err error) {
			slog.Error("an event is not in the file", "transport", transport, "event", e.EventID, "channel", e.Channel(), "error", err)
		},
	})
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return errors.Join(err, data.Close())
	}
	if _, err := fmt.Fprintf(os.Stdout, "listening on http://%s, events go to %s\n", l.Addr(), out); err != nil {
		return errors.Join(err, l.Close(), data.Close())
	}
	return data.Serve(ctx, l) // what was written before the end is in the file when it returns
}
