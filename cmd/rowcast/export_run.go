package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"strconv"
	"time"

	"github.com/rowcast/rowcast/client"
	"github.com/spf13/cobra"
)

// pageSize is how many rows a list gives at most.
const pageSize = 100

// exportState is how far an export came. It is written every second: what came
// after it is read again.
type exportState struct {
	Version int      `json:"version"`
	URL     string   `json:"url"`
	Entity  string   `json:"entity"`
	Query   string   `json:"query"`
	Format  string   `json:"format"`
	Columns []string `json:"columns,omitempty"` // of CSV
	Cursor  string   `json:"cursor"`
	Rows    int64    `json:"rows"`
	Bytes   int64    `json:"bytes"` // how long FILE.part is
}

// exportRun is one run of an export.
type exportRun struct {
	exportOptions
	client  *client.Client
	persist persistence
	bar     *progress
	out     io.Writer
	state   exportState
	saved   time.Time
}

// runExport writes the rows to stdout, or to a file that is whole or not there.
func runExport(cmd *cobra.Command, c *client.Client, o exportOptions) error {
	r := &exportRun{exportOptions: o, client: c, out: cmd.OutOrStdout()}
	r.state = exportState{Version: stateVersion, URL: o.url, Entity: o.entity, Query: o.query.Encode(), Format: o.format}
	r.bar = newProgress(cmd.ErrOrStderr(), tally{rows: int64(o.limit)})
	r.persist = persistence{limit: o.retry, repeat: true, note: r.bar.note}
	defer r.bar.clear()
	if o.file == "" {
		return r.pages(cmd.Context())
	}
	return r.toFile(cmd)
}

func (r *exportRun) part() string      { return r.file + ".part" }
func (r *exportRun) stateFile() string { return r.file + ".export" }

// toFile writes FILE.part and gives it its name when it is whole.
func (r *exportRun) toFile(cmd *cobra.Command) error {
	part, err := os.OpenFile(r.part(), os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- the operator names it
	if err != nil {
		return err
	}
	r.out = part
	err = r.begin(part)
	if err == nil {
		if err = r.pages(cmd.Context()); err != nil {
			err = r.unfinished(err)
		}
	}
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return err
	}
	if err := os.Rename(r.part(), r.file); err != nil {
		return err
	}
	if err := os.Remove(r.stateFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.bar.note("%d rows written to %s", r.state.Rows, r.file)
	return nil
}

// unfinished keeps what there is, and says how to go on.
func (r *exportRun) unfinished(err error) error {
	if r.state.Rows == 0 {
		return errors.Join(err, os.Remove(r.part()))
	}
	if kept := r.save(); kept != nil {
		return errors.Join(err, kept)
	}
	return fmt.Errorf("after %d rows: %w; call it again with --resume to go on (%s holds them)", r.state.Rows, err, r.part())
}

// begin takes back what was written after the last page that is known to be
// whole: with --resume that of the run before.
func (r *exportRun) begin(part *os.File) error {
	if r.resume {
		if err := r.goOn(part); err != nil {
			return err
		}
	} else if err := os.Remove(r.stateFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := part.Truncate(r.state.Bytes); err != nil {
		return err
	}
	_, err := part.Seek(r.state.Bytes, io.SeekStart)
	return err
}

// goOn reads the state of the run before; where there was none it begins anew.
func (r *exportRun) goOn(part *os.File) error {
	text, err := os.ReadFile(r.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var before exportState
	info, err := part.Stat()
	if err != nil {
		return err
	}
	same := json.Unmarshal(text, &before) == nil && before.Version == stateVersion && before.URL == r.url && before.Entity == r.entity &&
		before.Query == r.state.Query && before.Format == r.format
	switch {
	case !same:
		return fmt.Errorf("%s is of another export: call it as before, or without --resume to begin anew", r.stateFile())
	case info.Size() < before.Bytes:
		return fmt.Errorf("%s is shorter than it was: begin anew, without --resume", r.part())
	}
	r.state = before
	r.bar.base = tally{before.Rows, before.Bytes}
	r.bar.note("going on behind row %d", before.Rows)
	return nil
}

// pages writes page after page.
func (r *exportRun) pages(ctx context.Context) error {
	for more := true; more; {
		want := int64(pageSize)
		if r.limit > 0 {
			want = min(want, int64(r.limit)-r.state.Rows)
		}
		if want <= 0 {
			return nil
		}
		page, err := r.page(ctx, want)
		if err != nil {
			return err
		}
		text, err := r.encode(page.Items)
		if err != nil {
			return err
		}
		if _, err := r.out.Write(text); err != nil {
			return err
		}
		r.state.Rows += int64(len(page.Items))
		r.state.Bytes += int64(len(text))
		r.state.Cursor = page.Next
		if more = page.Next != ""; more && time.Since(r.saved) > time.Second {
			if err := r.save(); err != nil {
				return err
			}
		}
		r.bar.at(tally{r.state.Rows, r.state.Bytes})
	}
	return nil
}

// page asks for the next rows.
func (r *exportRun) page(ctx context.Context, want int64) (page client.Page, err error) {
	query := maps.Clone(r.query)
	query.Set("limit", strconv.FormatInt(want, 10))
	if r.state.Cursor != "" {
		query.Set("cursor", r.state.Cursor)
	}
	err = r.persist.try(ctx, func(ctx context.Context) (err error) {
		page, err = r.client.List(ctx, r.entity, query)
		return err
	})
	return page, err
}

func (r *exportRun) save() error {
	if r.file == "" {
		return nil
	}
	r.saved = time.Now()
	text, err := json.Marshal(r.state)
	if err != nil {
		return err
	}
	return replaceFile(r.stateFile(), append(text, '\n'))
}

// encode returns the rows as they stand in the file, before the first of them
// the names of the columns.
func (r *exportRun) encode(rows []json.RawMessage) (out []byte, err error) {
	if r.format == formatNDJSON {
		for _, row := range rows {
			out = append(append(out, row...), '\n')
		}
		return out, nil
	}
	if r.state.Columns == nil {
		if r.state.Columns = r.fields; r.fields == nil && len(rows) > 0 {
			if r.state.Columns, err = columnsOf(rows[0]); err != nil {
				return nil, err
			}
		}
		if r.state.Columns != nil {
			out = appendHeader(out, r.state.Columns)
		}
	}
	for _, row := range rows {
		if out, err = appendCSV(out, r.state.Columns, row); err != nil {
			return nil, err
		}
	}
	return out, nil
}
