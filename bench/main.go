// Command bench measures rowcast beside a floor server in the same run: it
// builds both, starts them as processes of their own on loopback (SQLite on
// disk, every commit synced), loads them in turn and prints a table. Several
// instances, and deliveries, are measured on a PostgreSQL that it starts for itself.
// Deliveries go to a receiver, a process of its own: see bench/receive.
//
//	go run ./bench            all figures, some twelve minutes
//	go run ./bench --quick    the same with small numbers, in some two minutes
//	go run ./bench --only latency,memory
//	go run ./bench --table docs/BENCHMARKS.md
//
// The floor is the least a server of N streams can do, see bench/floor; a
// figure says how rowcast compares, so that it means the same on any machine.
// Figures need Linux: CPU time and memory are read from /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rowcast/rowcast/bench/drive"
)

func main() { os.Exit(drive.Main("bench", run)) }

// options are the flags.
type options struct {
	quick, strict bool
	only          []string
	out, binary   string
	table         string // a document to put the table into
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	var only string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.BoolVar(&o.quick, "quick", false, "small numbers: shows that everything runs, not how fast")
	flags.BoolVar(&o.strict, "strict", false, "exit with status 1 where a figure misses its limit")
	flags.StringVar(&only, "only", "", "comma-separated `figures`: "+strings.Join(figureNames(), ", "))
	flags.StringVar(&o.out, "out", filepath.Join("bench", "out"), "`folder` for binaries, databases and bench.json; on a real disk")
	flags.StringVar(&o.binary, "binary", "", "rowcast `binary` to measure; built from this checkout by default")
	flags.StringVar(&o.table, "table", "", "also put the table between <!-- table --> and <!-- /table --> of a `document`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	for _, name := range o.only {
		if !slices.Contains(figureNames(), name) {
			return o, fmt.Errorf("--only: no figure %q; there are %s", name, strings.Join(figureNames(), ", "))
		}
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	if err := drive.RaiseFileLimit(); err != nil {
		return err
	}
	lab, err := build(ctx, o, progress)
	if err != nil {
		return err
	}
	start := time.Now()
	report := Report{Machine: machine(), Quick: o.quick}
	if report.Rows, err = lab.measure(ctx, chosen(o.only)); err != nil {
		return err
	}
	report.Seconds = time.Since(start).Seconds()
	if err := report.write(filepath.Join(o.out, "bench.json")); err != nil {
		return err
	}
	if _, err := io.WriteString(out, report.markdown()); err != nil {
		return err
	}
	if o.table != "" {
		if err := putTable(o.table, report.markdown()); err != nil {
			return err
		}
	}
	if missed := report.missed(); o.strict && len(missed) > 0 {
		return fmt.Errorf("missed: %s", strings.Join(missed, "; "))
	}
	return nil
}

// measure takes the figures in turn. Where one needs PostgreSQL it is started
// before all of them: who lacks it learns that at once.
func (l *lab) measure(ctx context.Context, figures []figure) (rows []Row, err error) {
	if slices.ContainsFunc(figures, func(f figure) bool { return f.postgres }) {
		l.say("starting PostgreSQL")
		if l.database, err = startDatabase(ctx); err != nil {
			return nil, fmt.Errorf("%w (the figures that need no PostgreSQL: --only %s)", err, strings.Join(withoutPostgres(), ","))
		}
		defer func() { err = errors.Join(err, l.database.stop()) }()
	}
	for _, f := range figures {
		l.say("%s …", f.name)
		found, err := f.measure(ctx, l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// build makes the lab: both binaries, and a probe of what a frame weighs.
func build(ctx context.Context, o options, progress io.Writer) (*lab, error) {
	out, err := filepath.Abs(o.out)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o750); err != nil {
		return nil, err
	}
	l := &lab{out: out, progress: progress, sizes: fullSizes, rowcast: filepath.Join(out, "rowcast"), floor: filepath.Join(out, "floor"), receive: filepath.Join(out, "receive")}
	if o.quick {
		l.sizes = quickSizes
	}
	packages := map[string]string{l.floor: "./bench/floor", l.rowcast: "./cmd/rowcast", l.receive: "./bench/receive"}
	if o.binary != "" {
		delete(packages, l.rowcast)
		if l.rowcast, err = filepath.Abs(o.binary); err != nil {
			return nil, err
		}
	}
	for binary, pkg := range packages {
		l.say("building %s", pkg)
		cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, pkg) // #nosec G204 -- fixed names
		if output, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build %s: %w\n%s", pkg, err, output)
		}
	}
	if l.frameBytes, err = l.probe(ctx); err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	l.say("a frame is %d bytes", l.frameBytes)
	return l, nil
}
