package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// lateness is how late a late answer is.
const lateness = 10 * time.Second

var errRequest = errors.New("no request that can be read")

// exchange reads requests from a connection and answers them, one after the other.
type exchange struct {
	conn     net.Conn
	reader   *bufio.Reader
	received *received
	names    map[string]string // paths seen here, so that none is made twice
	body     []byte
}

// request is what matters of one.
type request struct {
	get      bool
	way      string // the first part of the path; of a GET the whole path
	name     string // the last part
	delivery string // its id
}

func newExchange(conn net.Conn, r *received) *exchange {
	return &exchange{conn: conn, reader: bufio.NewReaderSize(conn, 16<<10), received: r, names: map[string]string{}}
}

// run serves the connection until it ends, or ctx does.
func (e *exchange) run(ctx context.Context) {
	for {
		r, err := e.read()
		if err != nil {
			return
		}
		answer, err := e.answer(ctx, r)
		if err != nil {
			return
		}
		if _, err := e.conn.Write(answer); err != nil {
			return
		}
	}
}

// answer says what a request is answered, when it may be.
func (e *exchange) answer(ctx context.Context, r request) ([]byte, error) {
	if r.get {
		text, err := e.received.tell(r.way)
		return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text), err
	}
	var wait time.Duration
	status := "204 No Content"
	switch r.way {
	case "accept":
		e.received.take(r.name, r.delivery, subject(e.body))
	case "late":
		wait = lateness
	case "fail":
		return []byte("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"), nil
	case "hole":
		_, _ = e.conn.Read(make([]byte, 1)) // until the sender gives up
		return nil, net.ErrClosed
	default:
		status = "404 Not Found\r\nContent-Length: 0"
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case <-e.received.answering():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return []byte("HTTP/1.1 " + status + "\r\n\r\n"), nil
}

// read reads one request whole; its body stands in e.body until the next.
func (e *exchange) read() (r request, err error) {
	line, err := e.line()
	if err != nil {
		return r, err
	}
	method, rest, _ := bytes.Cut(line, []byte(" "))
	path, _, _ := bytes.Cut(rest, []byte(" "))
	r.get = string(method) == "GET"
	r.way, r.name = e.place(path)
	if r.get {
		r.way = string(path)
	}
	length := 0
	for {
		if line, err = e.line(); err != nil {
			return r, err
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil || length < 0 {
				return r, errRequest
			}
		case bytes.EqualFold(name, []byte("X-Kisai-Delivery")):
			r.delivery = string(bytes.TrimSpace(value))
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			return r, errRequest // deliveries say how long they are
		}
	}
	if cap(e.body) < length {
		e.body = make([]byte, length)
	}
	e.body = e.body[:length]
	_, err = io.ReadFull(e.reader, e.body)
	return r, err
}

// place returns the first and the last part of a path.
func (e *exchange) place(path []byte) (way, name string) {
	text, known := e.names[string(path)]
	if !known {
		text = string(path)
		e.names[text] = text
	}
	way, name, _ = strings.Cut(strings.TrimPrefix(text, "/"), "/")
	return way, name
}

// line returns the next line of a head, without its end.
func (e *exchange) line() ([]byte, error) {
	line, err := e.reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// subject finds the row's id in the JSON of an event.
func subject(body []byte) string {
	_, rest, _ := bytes.Cut(body, []byte(`"subject":"`))
	text, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(text)
}
