package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
)

// onlyParameters refuses every query parameter but those named, and each given
// twice: one that is misspelt must not be taken for absent.
func (c *call) onlyParameters(names ...string) error {
	if c.req.URL.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(c.req.URL.RawQuery)
	if err != nil {
		return fault.New(fault.BadParameter, "the query string cannot be decoded: a %% must be followed by two hex digits, and a ; be written %%3B")
	}
	for name, values := range query {
		if !slices.Contains(names, name) {
			f := fault.New(fault.BadParameter, "this route takes no parameter %q", name)
			f.Available = names
			return f
		}
		if len(values) > 1 {
			return fault.New(fault.BadParameter, "the parameter %q is given twice", name)
		}
	}
	return nil
}

// fields reads ?fields= of a single row, as on a list; nil keeps all.
func (c *call) fields(g *access.Grant) (func(field int) bool, error) {
	if err := c.onlyParameters("fields"); err != nil {
		return nil, err
	}
	query := c.req.URL.Query()
	if !query.Has("fields") {
		return nil, nil
	}
	return engine.Projection(g, query.Get("fields"))
}

// conditions returns the preconditions of a write.
func (c *call) conditions() engine.Options {
	return engine.Options{
		IfMatch:     strings.Join(c.req.Header.Values("If-Match"), ", "),
		IfNoneMatch: strings.Join(c.req.Header.Values("If-None-Match"), ", "),
	}
}

// options returns the preconditions of a POST and its Idempotency-Key, with a
// hash of all that the key stands for.
func (c *call) options(body []byte) (engine.Options, error) {
	o := c.conditions()
	keys := c.req.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return o, nil
	}
	if len(keys) > 1 || keys[0] == "" {
		return o, fault.New(fault.BadParameter, "Idempotency-Key must have one value")
	}
	o.Key = keys[0]
	h := sha256.New()
	h.Write([]byte(c.req.Method + "\n" + c.req.URL.EscapedPath() + "\n"))
	h.Write(body)
	o.Request = hex.EncodeToString(h.Sum(nil))
	return o, nil
}
