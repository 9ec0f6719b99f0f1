package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// cell is one cell of CSV.
type cell struct {
	text   []byte
	quoted bool // it stood in quotes: "" is the empty text
}

// place is where in a record a csvRecord stands.
type place int

const (
	cellStart  place = iota
	bare             // in a cell without quotes
	inQuotes         // in a cell with quotes
	quoteEnded       // behind a quote that ends the cell, or is the first of two
	broken           // the record cannot be read: pass over the rest of the line
)

// csvRecord takes one record apart, as RFC 4180 has it: quotes stand around
// a whole cell or nowhere, and are doubled inside. What stands in quotes is kept
// to the byte, line ends too. Its zero value is at the start of a record.
type csvRecord struct {
	comma  byte
	cells  []cell
	text   []byte // of the cell being read
	place  place
	reason string // why it is no record
}

// line reads the next physical line of the record, with its end, and reports
// whether the record ends there.
func (c *csvRecord) line(data []byte) (whole bool) {
	end := len(data)
	if bytes.HasSuffix(data, []byte("\r\n")) {
		end -= 2
	} else if bytes.HasSuffix(data, []byte("\n")) || bytes.HasSuffix(data, []byte("\r")) {
		end--
	}
	for _, b := range data[:end] {
		c.take(b)
	}
	switch c.place {
	case inQuotes:
		c.text = append(c.text, data[end:]...)
		return false
	case broken:
	default:
		c.close()
	}
	return true
}

func (c *csvRecord) take(b byte) {
	switch c.place {
	case cellStart:
		switch b {
		case '"':
			c.place = inQuotes
		case c.comma:
			c.close()
		default:
			c.place = bare
			c.text = append(c.text, b)
		}
	case bare:
		switch b {
		case '"':
			c.fail("has a quote inside: put the cell in quotes and double the quote")
		case c.comma:
			c.close()
		default:
			c.text = append(c.text, b)
		}
	case inQuotes:
		if b == '"' {
			c.place = quoteEnded
			return
		}
		c.text = append(c.text, b)
	case quoteEnded:
		switch b {
		case '"':
			c.place = inQuotes
			c.text = append(c.text, b)
		case c.comma:
			c.close()
		default:
			c.fail("goes on behind its closing quote: double the quotes inside it")
		}
	case broken:
	}
}

func (c *csvRecord) fail(what string) {
	c.place = broken
	c.reason = fmt.Sprintf("cell %d %s", len(c.cells)+1, what)
}

func (c *csvRecord) close() {
	c.cells = append(c.cells, cell{text: slices.Clone(c.text), quoted: c.place == quoteEnded})
	c.text, c.place = c.text[:0], cellStart
}

// csvRows reads the records of a file as rows.
type csvRows struct {
	lines     *lines
	comma     byte
	emptyText bool
	columns   []string
	wanted    []bool
	kinds     []kind
}

// header reads the names of the columns and picks the fields that are wanted;
// nil is all.
func (r *csvRows) header(fields []string) error {
	cells, out, err := r.record()
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty: its first line must name the fields")
	case err != nil:
		return err
	case out.reason != "":
		return fmt.Errorf("line %d, which must name the fields, %s", out.line, out.reason)
	}
	for i, c := range cells {
		name := string(c.text)
		switch {
		case !utf8.ValidString(name):
			return fmt.Errorf("the name of column %d is not valid UTF-8", i+1)
		case name == "":
			return fmt.Errorf("column %d has no name: the first line must name the fields", i+1)
		case slices.Contains(r.columns, name):
			return fmt.Errorf("two columns are named %q", printable(name))
		}
		r.columns = append(r.columns, name)
		r.wanted = append(r.wanted, fields == nil || slices.Contains(fields, name))
	}
	for _, field := range fields {
		if !slices.Contains(r.columns, field) {
			return fmt.Errorf("--fields: no column is named %q; there are %s", field, printable(strings.Join(r.columns, ", ")))
		}
	}
	return nil
}

// next returns the next row or refused record, or io.EOF.
func (r *csvRows) next() (fileRow, error) {
	cells, out, err := r.record()
	if err != nil || out.reason != "" {
		return out, err
	}
	text := out.text
	if len(cells) != len(r.columns) {
		out.reason = fmt.Sprintf("has %d cells, and the first line names %d fields", len(cells), len(r.columns))
		return out, nil
	}
	out.text = ""
	out.body, err = r.row(cells)
	if err != nil {
		out.body, out.text, out.reason = nil, text, err.Error()
	}
	return out, nil
}

// record reads one record. One that is longer than a row may be is not held: its
// end is found by counting quotes.
func (r *csvRows) record() ([]cell, fileRow, error) {
	var out fileRow
	parser := csvRecord{comma: r.comma}
	length, open, long := 0, false, false
	for {
		l, err := r.lines.next()
		if errors.Is(err, io.EOF) && out.line > 0 {
			if out.reason == "" {
				out.reason = fmt.Sprintf("cell %d opens a quote that is never closed", len(parser.cells)+1)
			}
			return nil, out, nil
		}
		if err != nil {
			return nil, out, err
		}
		if out.line == 0 {
			if len(bytes.TrimRight(l.data, "\r\n")) == 0 && !l.long {
				continue
			}
			out.line, out.text = r.lines.number, shown(l.data)
		}
		out.last, out.end = r.lines.number, r.lines.offset
		if length += len(l.data); !long && (l.long || length > r.lines.limit) {
			long, open = true, parser.place == inQuotes
			out.reason = r.lines.tooLong()
			parser = csvRecord{}
		}
		var whole bool
		if long {
			open = open != (l.quotes%2 == 1)
			whole = !open
		} else if whole = parser.line(l.data); parser.reason != "" {
			out.reason = parser.reason
		}
		if whole {
			return parser.cells, out, nil
		}
	}
}

// row returns the row that the cells are, as JSON.
func (r *csvRows) row(cells []cell) ([]byte, error) {
	out := []byte{'{'}
	for i, c := range cells {
		if !r.wanted[i] {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		var err error
		if out, err = jsontext.AppendQuote(out, r.columns[i]); err != nil {
			return nil, fmt.Errorf("the name of column %d: %w", i+1, err)
		}
		out = append(out, ':')
		if out, err = r.kinds[i].appendJSON(out, c, r.emptyText); err != nil {
			return nil, fmt.Errorf("%s %w", printable(r.columns[i]), err)
		}
	}
	return append(out, '}'), nil
}
