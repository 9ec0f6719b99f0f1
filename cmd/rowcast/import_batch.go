package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/rowcast/rowcast/client"
)

// batch writes what can be written of the records, and reports the others. The
// state is saved after each answer that is not the last.
func (r *importRun) batch(ctx context.Context, records []fileRow) error {
	if r.state.Batch == nil {
		r.state.Batch = &batch{Records: len(records), Todo: [][2]int{{0, len(records)}}}
	}
	b := r.state.Batch
	if b.Records != len(records) {
		return errors.New("the file ends before what was read of it")
	}
	for i, rec := range records {
		if rec.reason != "" && !slices.Contains(b.Refused, i) {
			if err := errors.Join(r.refuse(records, i, rec.reason), r.tooMany()); err != nil {
				return err
			}
		}
	}
	for len(b.Todo) > 0 {
		if err := r.tooMany(); err != nil {
			return err
		}
		if err := r.piece(ctx, records); err != nil {
			return err
		}
		if len(b.Todo) > 0 {
			if err := r.save(); err != nil {
				return err
			}
		}
	}
	return nil
}

// tooMany ends an import of which so much is refused that it is likely wrong as
// a whole.
func (r *importRun) tooMany() error {
	if r.maxErrors < 0 || r.state.Refused <= r.maxErrors {
		return nil
	}
	return errors.Join(fmt.Errorf("%d lines were refused, more than --max-errors", r.state.Refused), r.save())
}

// piece sends the first range that is to do, and notes what came of it.
func (r *importRun) piece(ctx context.Context, records []fileRow) error {
	b := r.state.Batch
	from, to := b.Todo[0][0], b.Todo[0][1]
	var rows []int
	for i := from; i < to; i++ {
		if records[i].body != nil && !slices.Contains(b.Refused, i) {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		b.Todo = b.Todo[1:]
		return nil
	}
	err := r.send(ctx, records, rows)
	if err == nil {
		r.state.Written += len(rows)
		b.Todo = b.Todo[1:]
		return nil
	}
	var problem *client.Problem
	if !errors.As(err, &problem) || !ofRows(problem) {
		return err
	}
	if reasons := problem.Rows(); len(reasons) > 0 {
		return r.named(records, rows, reasons, err)
	}
	if len(rows) == 1 {
		return r.refuse(records, rows[0], problem.Error())
	}
	r.smaller(problem)
	middle := rows[len(rows)/2]
	b.Todo = append([][2]int{{from, middle}, {middle, to}}, b.Todo[1:]...)
	return nil
}

// named reports the rows that a refusal names.
func (r *importRun) named(records []fileRow, rows []int, reasons map[int]string, cause error) error {
	found := false
	for k, i := range rows {
		if reason, ok := reasons[k]; ok {
			found = true
			if err := r.refuse(records, i, reason); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("the server refuses rows that were not sent: %w", cause)
	}
	return nil
}

// ofRows reports whether a refusal is about rows rather than the request.
func ofRows(p *client.Problem) bool {
	switch p.Code {
	case "invalid", "row_refused", "malformed_body", "event_condition_failed", "body_too_large", "too_many_rows":
		return true
	case "conflict":
		return len(p.Rows()) > 0
	}
	return false
}

// smaller makes the requests to come smaller, where this one was too large.
func (r *importRun) smaller(p *client.Problem) {
	switch p.Code {
	case "body_too_large":
		r.state.Bytes = max(r.state.Bytes/2, 4<<10)
	case "too_many_rows":
		r.state.Rows = max(r.state.Rows/2, 1)
	}
}

// send writes rows in one request. Its key is of this import, the place in the
// file and the very bytes: another request never has it.
func (r *importRun) send(ctx context.Context, records []fileRow, rows []int) error {
	var body bytes.Buffer
	for _, i := range rows {
		_, _ = body.Write(records[i].body)
		_ = body.WriteByte('\n')
	}
	key := ""
	if r.keys {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d %s", r.state.Run, r.state.Head, r.state.Offset, records[rows[0]].line, body.Bytes()))
		key = "import-" + hex.EncodeToString(sum[:])
	}
	return r.persist.try(ctx, func(ctx context.Context) error {
		r.sent++
		_, err := r.client.Bulk(ctx, r.entity, body.Bytes(), key)
		return err
	})
}

// refuse reports a record that is not written.
func (r *importRun) refuse(records []fileRow, i int, reason string) error {
	rec := records[i]
	rec.reason = reason
	where := fmt.Sprintf("line %d", rec.line)
	if rec.last > rec.line {
		where = fmt.Sprintf("lines %d to %d", rec.line, rec.last)
	}
	r.bar.note("%s: %s", where, reason)
	more, err := r.rejects.add(rec)
	r.state.Rejects += more
	r.state.Refused++
	r.state.Batch.Refused = append(r.state.Batch.Refused, i)
	return err
}
