package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// columnsOf returns the names in a row, in its order.
func columnsOf(row json.RawMessage) (names []string, err error) {
	err = members(row, func(name string, _ jsontext.Value) error {
		names = append(names, name)
		return nil
	})
	return names, err
}

// members calls do for each member of an object.
func members(row json.RawMessage, do func(name string, value jsontext.Value) error) error {
	d := jsontext.NewDecoder(bytes.NewReader(row))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return errors.Join(errors.New("the server's answer has something that is no row"), err)
	}
	for d.PeekKind() != '}' {
		tok, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := tok.String() // the token is good until the next is read
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		if err := do(name, value); err != nil {
			return err
		}
	}
	return nil
}

// appendHeader appends the line that names the columns.
func appendHeader(dst []byte, columns []string) []byte {
	for i, name := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCell(dst, []byte(name))
	}
	return append(dst, '\n')
}

// appendCSV appends a row. Null, and what the row lacks, is an empty cell.
func appendCSV(dst []byte, columns []string, row json.RawMessage) ([]byte, error) {
	cells := make(map[string][]byte, len(columns))
	for _, name := range columns {
		cells[name] = nil
	}
	err := members(row, func(name string, value jsontext.Value) (err error) {
		if _, known := cells[name]; !known {
			return fmt.Errorf("a row has the field %s, which those before had not: the schema has changed; begin anew", printable(name))
		}
		cells[name], err = appendValue(nil, value)
		return err
	})
	if err != nil {
		return nil, err
	}
	start := len(dst)
	for i, name := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, cells[name]...)
	}
	if len(dst) == start { // an empty line is no row
		dst = append(dst, `""`...)
	}
	return append(dst, '\n'), nil
}

// appendValue appends a value as a cell.
func appendValue(dst []byte, value jsontext.Value) ([]byte, error) {
	switch value.Kind() {
	case 'n':
		return dst, nil
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return nil, err
		}
		return appendCell(dst, text), nil
	default:
		return appendCell(dst, value), nil
	}
}

// appendCell appends a text that is not null: "" where it is empty, and in
// quotes where it would be read as something else.
func appendCell(dst, text []byte) []byte {
	bare := len(text) > 0 && !bytes.ContainsAny(text, ",\"\r\n") && !bytes.HasPrefix(text, []byte("\uFEFF"))
	if bare {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	dst = append(dst, bytes.ReplaceAll(text, []byte{'"'}, []byte(`""`))...)
	return append(dst, '"')
}
