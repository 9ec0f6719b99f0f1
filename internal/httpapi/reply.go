package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/render"
	"github.com/rowcast/rowcast/internal/value"
)

// writeBody writes a whole response. HEAD goes this way too: net/http keeps the
// length and drops the bytes.
func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// private says that a response is the caller's alone: rows differ by who reads them.
func private(h http.Header) {
	h.Set("Cache-Control", "private, no-cache")
	h.Add("Vary", "Authorization, Cookie")
}

// json answers with a document that holds rows.
func (c *call) json(status int, body []byte) {
	private(c.Header())
	c.Header().Set("X-Content-Type-Options", "nosniff")
	writeBody(c, status, typeJSON, body)
}

// row answers with the whole row of an outcome.
func (c *call) row(status int, o *engine.Outcome) {
	c.Header().Set("ETag", render.ETag(o.Grant, o.Row))
	c.json(status, render.Row(nil, o.Grant, nil, o.Row))
}

// rowOrNothing is the answer of PUT, PATCH and restore: 204 where the writer
// may not read what it wrote.
func (c *call) rowOrNothing(o *engine.Outcome) {
	c.replayed(o.Again)
	if o.Row == nil {
		c.WriteHeader(http.StatusNoContent)
		return
	}
	c.row(http.StatusOK, o)
}

// replayed tells a caller that its Idempotency-Key answered, and nothing was written.
func (c *call) replayed(again bool) {
	if again {
		c.Header().Set("Idempotent-Replayed", "true")
	}
}

// appendID appends a row's id as JSON.
func appendID(dst []byte, o *engine.Outcome) []byte {
	e := o.Grant.Policy.Entity
	return value.AppendJSON(dst, e.Fields[e.ID].Type, o.ID)
}

// appendIDObject appends {"id":…}, what a writer is told of a row it may not read.
func appendIDObject(dst []byte, o *engine.Outcome) []byte {
	dst = append(dst, `{"id":`...)
	return append(appendID(dst, o), '}')
}

// idText returns a row's id as it stands in a path.
func idText(o *engine.Outcome) string {
	e := o.Grant.Policy.Entity
	return string(value.AppendText(nil, e.Fields[e.ID].Type, o.ID))
}

// matches reports whether an If-None-Match header names the tag. Weak
// comparison, as RFC 9110 asks for here; "*" matches any row there is.
func matches(header, etag string) bool {
	for header != "" {
		var one string
		one, header = nextTag(header)
		if one == "*" || one == etag {
			return true
		}
	}
	return false
}

// nextTag cuts the first entity tag off a list; a comma inside quotes is part of the tag.
func nextTag(list string) (tag, rest string) {
	list = strings.TrimLeft(list, " \t,")
	list = strings.TrimPrefix(list, "W/")
	if strings.HasPrefix(list, `"`) {
		if end := strings.IndexByte(list[1:], '"'); end >= 0 {
			return list[:end+2], list[end+2:]
		}
		return "", ""
	}
	tag, rest, _ = strings.Cut(list, ",")
	return strings.TrimSpace(tag), rest
}
