package engine

import (
	"strings"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/render"
	"github.com/rowcast/rowcast/internal/store"
)

// precondition is what If-Match and If-None-Match ask (RFC 9110, section 13).
// It is checked in the transaction, on the row that is then written.
type precondition struct {
	match, none *tags // nil: the header was not sent
}

// tags is a list of entity tags, quotes included, or any.
type tags struct {
	any  bool
	list []tag
}

type tag struct {
	weak bool
	text string
}

func parsePrecondition(o Options) (p precondition, err error) {
	if p.match, err = parseTags("If-Match", o.IfMatch); err != nil {
		return p, err
	}
	p.none, err = parseTags("If-None-Match", o.IfNoneMatch)
	return p, err
}

// parseTags refuses a malformed list rather than guess: a condition that is
// not understood must not let a write pass.
func parseTags(header, text string) (*tags, error) {
	text = strings.Trim(text, " \t")
	switch text {
	case "":
		return nil, nil
	case "*":
		return &tags{any: true}, nil
	}
	out := &tags{}
	for text != "" {
		one, rest, ok := cutTag(text)
		if !ok {
			return nil, fault.New(fault.BadParameter, `%s must be * or a list of entity tags in double quotes, as ETag gave them`, header)
		}
		out.list = append(out.list, one)
		text = rest
	}
	return out, nil
}

// cutTag takes one tag and the comma after it off a list.
func cutTag(s string) (t tag, rest string, ok bool) {
	s, t.weak = strings.CutPrefix(s, "W/")
	if s == "" || s[0] != '"' {
		return t, "", false
	}
	end := strings.IndexByte(s[1:], '"')
	if end < 0 {
		return t, "", false
	}
	t.text, rest = s[:end+2], strings.TrimLeft(s[end+2:], " \t")
	if rest == "" {
		return t, "", true
	}
	rest, ok = strings.CutPrefix(rest, ",")
	rest = strings.TrimLeft(rest, " \t,")
	return t, rest, ok
}

// check judges the row as this caller reads it; nil is no row to read. Who may
// not read at all matches * alone: a tag would answer a guess at the whole row.
func (p precondition) check(g *access.Grant, row store.Row) error {
	if p.match == nil && p.none == nil {
		return nil
	}
	etag := ""
	if row != nil && g.Can(access.Read) {
		etag = render.ETag(g, row)
	}
	exists := row != nil
	if p.match != nil && !p.match.has(exists, etag, true) {
		return fault.New(fault.PreconditionFailed, "the row is not as If-Match says; read it again")
	}
	if p.none != nil && p.none.has(exists, etag, false) {
		return fault.New(fault.PreconditionFailed, "the row is as If-None-Match says it must not be")
	}
	return nil
}

// has compares strongly (a weak tag never matches) or weakly.
func (t *tags) has(exists bool, etag string, strong bool) bool {
	if t.any {
		return exists
	}
	for _, one := range t.list {
		if etag == "" || one.text != etag || (strong && one.weak) {
			continue
		}
		return true
	}
	return false
}

// absent checks the conditions of a write whose row does not exist yet.
func absent(o Options) error {
	p, err := parsePrecondition(o)
	if err != nil {
		return err
	}
	return p.check(nil, nil)
}
