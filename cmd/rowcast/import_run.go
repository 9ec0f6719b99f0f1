package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rowcast/rowcast/client"
	"github.com/spf13/cobra"
)

// rowReader reads a file; the error at its end is io.EOF.
type rowReader interface {
	next() (fileRow, error)
}

// importRun is one run of an import. What it has done stands in state, which is
// on disk whenever something is not done yet.
type importRun struct {
	importOptions
	client  *client.Client
	persist persistence
	bar     *progress
	rows    rowReader
	state   *importState
	rejects *rejects
	ahead   *fileRow // read, but of the next batch
	fresh   bool     // no run was before this one
	sent    int      // how many requests were made
}

// runImport reads the file and writes its rows.
func runImport(cmd *cobra.Command, c *client.Client, o importOptions) (err error) {
	l, shut, err := openLines(o.file, cmd.InOrStdin())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shut()) }()
	r := &importRun{importOptions: o, client: c, bar: newProgress(cmd.ErrOrStderr(), tally{bytes: l.size})}
	r.persist = persistence{limit: o.retry, repeat: o.keys, note: r.bar.note}
	if err := r.open(cmd.Context(), l); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.rejects.close()) }()
	if err := r.run(cmd.Context()); err != nil {
		r.bar.clear()
		return r.unfinished(err)
	}
	r.bar.clear()
	if o.stateFile != "" {
		if err := os.Remove(o.stateFile); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%d rows written, %d lines refused\n", r.state.Written, r.state.Refused); err != nil {
		return err
	}
	if r.state.Refused > 0 {
		return fmt.Errorf("%d lines were refused; all others are written", r.state.Refused)
	}
	return nil
}

// open begins anew, or goes to where an earlier run stood.
func (r *importRun) open(ctx context.Context, l *lines) error {
	state, err := loadState(r.stateFile)
	if err != nil {
		return err
	}
	begun := state != nil
	if begun {
		if err := state.fits(r.stateFile, r.importOptions, l); err != nil {
			return err
		}
	} else {
		state = newState(r.importOptions, l)
	}
	r.state = state
	if err := r.reader(ctx, l); err != nil {
		return err
	}
	if r.rejects, err = openRejects(r.rejectsFile, state.Rejects); err != nil {
		return err
	}
	if !begun {
		r.fresh = true
		return r.save()
	}
	r.bar.base = tally{int64(state.Written), state.Offset}
	r.bar.note("going on behind line %d: %d rows were written, %d lines refused", state.Line, state.Written, state.Refused)
	if age := time.Since(state.At); r.keys && age > forgotten {
		r.bar.note("the run before ended %s ago: if it was killed, its last %d lines may be written twice", age.Round(time.Hour), state.Rows)
	}
	if state.Offset > 0 {
		return l.skip(state.Offset, state.Line)
	}
	return nil
}

// reader chooses how rows are read. The header of CSV is read at once, and its
// fields' kinds are asked for.
func (r *importRun) reader(ctx context.Context, l *lines) error {
	if !r.keys {
		r.bar.note("without a credential a request cannot bear an Idempotency-Key: an answer that is lost ends the import")
	}
	if r.format != formatCSV {
		r.rows = &ndjson{lines: l, fields: r.fields}
		return nil
	}
	rows := &csvRows{lines: l, comma: r.delimiter[0], emptyText: r.emptyText}
	if err := rows.header(r.fields); err != nil {
		return err
	}
	r.rows = rows
	if r.state.Kinds == nil {
		var unknown []string
		for i, name := range rows.columns {
			if _, known := r.kinds[name]; rows.wanted[i] && !known {
				unknown = append(unknown, name)
			}
		}
		kinds, err := learnKinds(ctx, r.ask, unknown)
		if err != nil {
			return err
		}
		for name, k := range r.kinds {
			kinds[name] = k
		}
		r.state.Kinds = kinds
	}
	for _, name := range rows.columns {
		rows.kinds = append(rows.kinds, r.state.Kinds[name])
	}
	return nil
}

// ask sends a row that is to be refused.
func (r *importRun) ask(ctx context.Context, row []byte) error {
	p := r.persist
	p.repeat = true // it writes nothing
	return p.try(ctx, func(ctx context.Context) error {
		_, err := r.client.Bulk(ctx, r.entity, row, "")
		return err
	})
}

// run does batch after batch, to the end of the file.
func (r *importRun) run(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return errInterrupted
		}
		records, err := r.read()
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return nil
		}
		if err := r.batch(ctx, records); err != nil {
			return err
		}
		last := records[len(records)-1]
		r.state.Offset, r.state.Line, r.state.Batch = last.end, last.last, nil
		if err := r.save(); err != nil {
			return err
		}
		r.bar.at(tally{int64(r.state.Written), r.state.Offset})
	}
}

// read returns the records of the next batch: of one that was begun exactly
// those, and else as many as the state says go into one request.
func (r *importRun) read() (records []fileRow, err error) {
	total := 0
	for {
		if b := r.state.Batch; b != nil && len(records) == b.Records {
			return records, nil
		}
		rec := fileRow{}
		if r.ahead != nil {
			rec, r.ahead = *r.ahead, nil
		} else if rec, err = r.rows.next(); errors.Is(err, io.EOF) {
			return records, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", r.file, err)
		}
		total += len(rec.body) + 1
		if r.state.Batch == nil && len(records) > 0 && (len(records) == r.state.Rows || total > r.state.Bytes) {
			r.ahead = &rec
			return records, nil
		}
		records = append(records, rec)
	}
}

func (r *importRun) save() error {
	if err := r.state.save(r.stateFile); err != nil {
		return fmt.Errorf("the state cannot be kept, see --state: %w", err)
	}
	return nil
}

// unfinished says how to go on. What the server refused before anything was
// done is not begun.
func (r *importRun) unfinished(err error) error {
	var problem *client.Problem
	if r.fresh && r.sent <= 1 && r.state.Refused == 0 && errors.As(err, &problem) && problem.Status < 500 && r.stateFile != "" {
		return errors.Join(err, os.Remove(r.stateFile))
	}
	err = fmt.Errorf("behind line %d, after %d rows: %w", r.state.Line, r.state.Written, err)
	if r.stateFile == "" {
		return err
	}
	return fmt.Errorf("%w; call it again to go on (%s holds how far it came)", err, r.stateFile)
}
