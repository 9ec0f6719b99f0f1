// Package sse writes text/event-stream: fields, comments and blocks as bytes,
// and a Writer that puts bytes on a connection under a deadline.
//
// The append functions are pure. A Writer belongs to one goroutine. The
// package imports nothing of rowcast.
package sse

import (
	"net/http"
	"strconv"
	"time"
)

// SetHeaders sets the response headers of a stream (contract: Response headers).
// Connection is left out of HTTP/2, which forbids it.
func SetHeaders(h http.Header, protoMajor int) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	if protoMajor < 2 {
		h.Set("Connection", "keep-alive")
	}
	h.Set("X-Accel-Buffering", "no")
}

// AppendFrame appends one event block. data must be one line.
func AppendFrame(dst []byte, id, event string, data []byte) []byte {
	dst = append(append(append(dst, "id: "...), id...), '\n')
	dst = append(append(append(dst, "event: "...), event...), '\n')
	return append(append(append(dst, "data: "...), data...), "\n\n"...)
}

// AppendID appends a block that moves the client's last event id and dispatches nothing.
func AppendID(dst []byte, id string) []byte {
	return append(append(append(dst, "id: "...), id...), "\n\n"...)
}

// AppendComment appends a comment line without ending the block.
func AppendComment(dst []byte, text string) []byte {
	return append(append(append(dst, ": "...), text...), '\n')
}

// AppendRetry appends the reconnection time, in milliseconds, without ending the block.
func AppendRetry(dst []byte, wait time.Duration) []byte {
	dst = append(dst, "retry: "...)
	return append(strconv.AppendInt(dst, wait.Milliseconds(), 10), '\n')
}

// Writer writes to one connection. Not safe for concurrent use.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// NewWriter returns a Writer whose every Send must be taken within timeout.
func NewWriter(w http.ResponseWriter, timeout time.Duration) *Writer {
	return &Writer{w: w, control: http.NewResponseController(w), timeout: timeout}
}

// Send writes p and flushes it. The deadline is lifted afterwards, so that a
// quiet stream is not ended by an old one. An error means the connection is of
// no more use.
func (s *Writer) Send(p []byte) error {
	if err := s.End(p); err != nil {
		return err
	}
	return s.control.SetWriteDeadline(time.Time{})
}

// End is Send for the last bytes. The deadline stays: it bounds what net/http
// writes to end the response too, and net/http lifts it after that.
func (s *Writer) End(p []byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil {
		return err
	}
	if _, err := s.w.Write(p); err != nil {
		return err
	}
	return s.control.Flush()
}
