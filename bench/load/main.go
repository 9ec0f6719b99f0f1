// Command load opens event streams on a server, posts rows to it, and says how
// fast both went and whether anything was lost.
//
//	go run ./bench/load --help
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/rowcast/rowcast/bench/drive"
)

const usage = `load opens event streams on a server, posts rows to it, and says how fast both
went and whether anything was lost.

Examples:
  # 100 streams, 8 writers that never pause, ten seconds
  go run ./bench/load --url http://127.0.0.1:8080 --token "$TOKEN" --entity order --streams 100 --writers 8

  # how long a frame takes: one writer, five rows a second, 1,000 streams
  go run ./bench/load --token "$TOKEN" --entity order --streams 1000 --writers 1 --rate 5 --latency

  # only writes, with a body of your own (%d is a number that grows)
  go run ./bench/load --token "$TOKEN" --entity order --streams 0 --body '{"title":"row %d"}'

The token must be allowed to create and to read the entity. Many streams of one
caller need limits.streamsperprincipal above their number. Rows stay behind.

`

// options are the flags.
type options struct {
	url, token, entity, name, body string
	streams, writers               int
	rate                           float64
	duration, patience             time.Duration
	latency, json                  bool
}

func main() { os.Exit(drive.Main("load", run)) }

func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() { _, _ = io.WriteString(out, usage); flags.PrintDefaults() }
	flags.StringVar(&o.url, "url", "http://127.0.0.1:8080", "`address` of the server")
	flags.StringVar(&o.token, "token", os.Getenv("ROWCAST_TOKEN"), "bearer token; also from ROWCAST_TOKEN")
	flags.StringVar(&o.entity, "entity", "", "`entity` to write and to follow (required)")
	flags.StringVar(&o.name, "name", "", "declared `subscription`, where the entity has several")
	flags.StringVar(&o.body, "body", `{"title":"row %d"}`, "`JSON` of a row; %d becomes a number that grows")
	flags.IntVar(&o.streams, "streams", 100, "how many streams to open")
	flags.IntVar(&o.writers, "writers", 8, "how many connections to write on")
	flags.Float64Var(&o.rate, "rate", 0, "writes a second of each writer; 0: it never pauses")
	flags.DurationVar(&o.duration, "duration", 10*time.Second, "how long to write")
	flags.DurationVar(&o.patience, "patience", 10*time.Second, "how long to wait for frames when none come")
	flags.BoolVar(&o.latency, "latency", false, "measure from the start of a write to each frame; needs --writers 1")
	flags.BoolVar(&o.json, "json", false, "print the report as JSON")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case o.entity == "":
		return o, errors.New("--entity is required; see --help")
	case o.latency && o.writers != 1:
		return o, errors.New("--latency needs --writers 1: a frame is matched with its write by its number")
	case o.streams < 0 || o.writers < 0 || o.rate < 0:
		return o, errors.New("--streams, --writers and --rate cannot be negative")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	address, err := url.Parse(o.url)
	if err != nil || address.Scheme != "http" || address.Host == "" || address.Path != "" && address.Path != "/" {
		return fmt.Errorf("--url %q: want http://HOST:PORT (TLS would measure TLS)", o.url)
	}
	if address.Port() == "" {
		address.Host += ":80"
	}
	if err := drive.RaiseFileLimit(); err != nil {
		return err
	}
	report, err := o.measure(ctx, address.Host, progress)
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(out).Encode(report)
	}
	_, err = io.WriteString(out, report.text())
	return err
}

// measure opens, writes, waits for the frames and verifies.
func (o options) measure(ctx context.Context, addr string, progress io.Writer) (Report, error) {
	report := Report{Streams: o.streams, Writers: o.writers}
	path := "/subscribe/" + url.PathEscape(o.entity)
	if o.name != "" {
		path += "?name=" + url.QueryEscape(o.name)
	}
	_, _ = fmt.Fprintf(progress, "opening %d streams\n", o.streams)
	start := time.Now()
	swarm, err := drive.Open(ctx, drive.Gathering{N: o.streams, Timed: o.latency, Opening: func(int) drive.Opening {
		return drive.Opening{Addr: addr, Path: path, Token: o.token}
	}})
	if err != nil {
		return report, err
	}
	defer swarm.Close()
	report.OpenedPerSecond = float64(o.streams) / time.Since(start).Seconds()

	_, _ = fmt.Fprintf(progress, "writing for %s\n", o.duration)
	start = time.Now()
	written, err := o.write(ctx, o.writing(addr))
	if err != nil {
		return report, err
	}
	report.count(written)
	_, _ = fmt.Fprintln(progress, "waiting for the frames")
	report.Complete = swarm.Await(ctx, uint64(len(written.IDs)*o.streams), o.patience)
	report.FrameSeconds = time.Since(start).Seconds()
	swarm.Close()
	report.Frames = swarm.Frames()
	if o.streams > 0 {
		report.Losses = swarm.Verify(written.IDs)
	}
	if o.latency {
		report.FrameP50, report.FrameP99 = quantiles(swarm.Latencies(written))
	}
	return report, nil
}

func (o options) writing(addr string) drive.Writing {
	writing := drive.Writing{
		Addr: addr, Path: "/data/" + url.PathEscape(o.entity), Writers: o.writers, Duration: o.duration,
		Body: o.body, Callers: []drive.Caller{{Token: o.token}},
	}
	if o.rate > 0 {
		writing.Every = time.Duration(float64(time.Second) / o.rate)
	}
	return writing
}

// write writes beside nothing, or beside streams in a process of its own.
func (o options) write(ctx context.Context, writing drive.Writing) (drive.Written, error) {
	if o.streams == 0 {
		return drive.Write(ctx, writing)
	}
	return drive.WriteApart(ctx, writing)
}
