package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/engine"
)

const (
	typeJSON   = "application/json"
	typeMerge  = "application/merge-patch+json"
	typeNDJSON = "application/x-ndjson"
)

// body reads the whole body of one of the given content types, and returns
// which one it is.
func (c *call) body(types ...string) (data []byte, contentType string, err error) {
	contentType, err = c.contentType(types)
	if err != nil {
		return nil, "", err
	}
	data, err = c.read()
	return data, contentType, err
}

// object reads a body that is one JSON object.
func (c *call) object(types ...string) (engine.Body, []byte, error) {
	data, _, err := c.body(types...)
	if err != nil {
		return nil, nil, err
	}
	b, err := engine.DecodeBody(data)
	return b, data, err
}

func (c *call) contentType(types []string) (string, error) {
	media, params, err := mime.ParseMediaType(c.req.Header.Get("Content-Type"))
	charset := params["charset"]
	if err == nil && slices.Contains(types, media) && (charset == "" || strings.EqualFold(charset, "utf-8")) &&
		c.req.Header.Get("Content-Encoding") == "" {
		return media, nil
	}
	f := fault.New(fault.UnsupportedMediaType, "send the body uncompressed, in UTF-8, with Content-Type: %s", strings.Join(types, " or "))
	f.Available = types
	return "", f
}

// read reads the body under the limit of size; bound has set that of time.
func (c *call) read() ([]byte, error) {
	limit := c.api.config.Limits.Body
	if c.req.ContentLength > limit {
		return nil, bodyTooLarge(limit)
	}
	data, err := readAll(http.MaxBytesReader(c.ResponseWriter, c.req.Body, limit), c.req.ContentLength)
	if err != nil {
		return nil, bodyFault(err, limit)
	}
	return data, nil
}

// readAll is io.ReadAll into a buffer of the announced size, but not of what a
// caller merely announces and never sends.
func readAll(r io.Reader, announced int64) ([]byte, error) {
	var b bytes.Buffer
	if announced > 0 {
		b.Grow(int(min(announced, 64<<10)) + bytes.MinRead)
	}
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}

func bodyFault(err error, limit int64) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return bodyTooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.New(fault.MalformedBody, "the body did not arrive in time").Because(err)
	}
	return fault.New(fault.MalformedBody, "the body ended before it was whole").Because(err)
}

func bodyTooLarge(limit int64) error {
	return fault.New(fault.BodyTooLarge, "a body may have %d bytes (limits.body); send fewer rows at a time", limit)
}
