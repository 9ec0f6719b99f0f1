package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rowcast/rowcast/client"
	"github.com/rowcast/rowcast/internal/value"
)

// kind is how JSON writes the values of a field. The zero kind is text: a
// string, an enum, a time, an id and bytes are all written as one.
type kind int

const (
	textual kind = iota
	number
	boolean
	object
	array
)

func kindOf(t value.Type) kind {
	switch t {
	case value.Integer, value.BigInt, value.Double:
		return number
	case value.Boolean:
		return boolean
	case value.Object:
		return object
	case value.Array:
		return array
	default:
		return textual
	}
}

// appendJSON appends the value of a cell. A cell that is none of its kind goes
// as text, so that the server says what it must be. An empty cell is null; of a
// text it is one only without quotes.
func (k kind) appendJSON(dst []byte, c cell, emptyText bool) ([]byte, error) {
	if len(c.text) == 0 && (k != textual || !c.quoted && !emptyText) {
		return append(dst, "null"...), nil
	}
	if k.literal(c.text) {
		return appendLine(dst, c.text)
	}
	if k == boolean && (bytes.EqualFold(c.text, []byte("true")) || bytes.EqualFold(c.text, []byte("false"))) {
		return append(dst, bytes.ToLower(c.text)...), nil
	}
	if !utf8.Valid(c.text) {
		return dst, errors.New("is not valid UTF-8")
	}
	return jsontext.AppendQuote(dst, c.text)
}

// literal reports whether a cell is JSON of the kind as it stands.
func (k kind) literal(text []byte) bool {
	if len(text) == 0 || !utf8.Valid(text) {
		return false
	}
	first, last := text[0], text[len(text)-1]
	switch k {
	case number:
		return (first == '-' || first >= '0' && first <= '9') && last >= '0' && last <= '9' && json.Valid(text)
	case boolean:
		return string(text) == "true" || string(text) == "false"
	case object:
		return first == '{' && last == '}' && json.Valid(text)
	case array:
		return first == '[' && last == ']' && json.Valid(text)
	default:
		return false
	}
}

// appendLine appends JSON, of which no line break is left.
func appendLine(dst, text []byte) ([]byte, error) {
	if !bytes.ContainsAny(text, "\r\n") {
		return append(dst, text...), nil
	}
	var line bytes.Buffer
	err := json.Compact(&line, text)
	return append(dst, line.Bytes()...), err
}

// nowhere is a name that no field has: a row with it is always refused.
const nowhere = "?"

// probes are values by which the server tells what a field holds: it refuses
// each as of a wrong type but for fields of its kind.
var probes = []struct {
	kind  kind
	value string
}{{number, "0"}, {boolean, "false"}, {object, "{}"}, {array, "[]"}}

// learnKinds asks the server what fields hold, by rows that it must refuse:
// nothing is written. It also finds names that are no fields of the entity.
func learnKinds(ctx context.Context, send func(context.Context, []byte) error, fields []string) (map[string]kind, error) {
	kinds := map[string]kind{}
	const atOnce = 40 // an answer names a hundred faults at most
	for some := range slices.Chunk(fields, atOnce) {
		for _, p := range probes {
			refused, err := probe(ctx, send, some, p.value)
			if err != nil {
				return nil, err
			}
			for _, field := range some {
				if !refused[field] {
					kinds[field] = p.kind
				}
			}
		}
	}
	return kinds, nil
}

// probe returns which fields do not take a value of that type.
func probe(ctx context.Context, send func(context.Context, []byte) error, fields []string, literal string) (map[string]bool, error) {
	row := []byte{'{'}
	for _, field := range append(slices.Clone(fields), nowhere) {
		if len(row) > 1 {
			row = append(row, ',')
		}
		var err error
		if row, err = jsontext.AppendQuote(row, field); err != nil {
			return nil, fmt.Errorf("the name of a column: %w", err)
		}
		row = append(append(row, ':'), literal...)
	}
	err := send(ctx, append(row, '}'))
	var problem *client.Problem
	switch {
	case err == nil:
		return nil, errors.New("the server took a row that it had to refuse; say with --types what the fields hold")
	case !errors.As(err, &problem) || problem.Code != "invalid":
		return nil, err
	}
	refused, whole := map[string]bool{}, false
	for _, e := range problem.Errors {
		field := strings.TrimPrefix(e.Field, "[0].")
		switch {
		case field == nowhere:
			whole = true
		case e.Code == "unknown_field", e.Code == "read_only":
			return nil, fmt.Errorf("the first line names %s, which %s; choose others with --fields", printable(field), unusable(e))
		case e.Code == "invalid_type":
			refused[field] = true
		}
	}
	if !whole {
		return nil, errors.New("the server does not say of all fields what they hold; say it with --types")
	}
	return refused, nil
}

func unusable(e client.FieldError) string {
	if e.Code == "read_only" {
		return e.Detail
	}
	return "is no field: " + e.Detail
}
