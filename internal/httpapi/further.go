package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/rowcast/rowcast/internal/engine"
)

// errForeignWriter is a further route's own fault: it asked with another writer.
var errForeignWriter = errors.New("httpapi: not the ResponseWriter that the route's handler was given")

// Object reads the body of a request to a further route: one JSON object, in the
// limits and with the strictness of every other body. Without a body it is empty.
// w is the ResponseWriter that Route.Handler was given. The error is a fault.
func Object(w http.ResponseWriter) (map[string]json.RawMessage, error) {
	c, ok := w.(*call)
	if !ok {
		return nil, errForeignWriter
	}
	data, err := c.read()
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return nil, err
	}
	if _, err := c.contentType([]string{typeJSON}); err != nil {
		return nil, err
	}
	body, err := engine.DecodeBody(data)
	if err != nil {
		return nil, err
	}
	members := make(map[string]json.RawMessage, len(body))
	for _, m := range body {
		members[m.Name] = m.Raw
	}
	return members, nil
}

// Parameters returns the query of a request to a further route, which takes those
// named and no other, each once. w is as in Object. The error is a fault.
func Parameters(w http.ResponseWriter, names ...string) (url.Values, error) {
	c, ok := w.(*call)
	if !ok {
		return nil, errForeignWriter
	}
	if err := c.onlyParameters(names...); err != nil {
		return nil, err
	}
	return c.req.URL.Query(), nil
}
