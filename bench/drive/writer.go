package drive

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
)

// Writer posts over one kept-alive connection, one request at a time.
type Writer struct {
	addr   string
	conn   net.Conn
	reader *bufio.Reader
	out    []byte
	answer []byte
}

// Dial returns a Writer to host:port.
func Dial(ctx context.Context, addr string) (*Writer, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Writer{addr: addr, conn: conn, reader: bufio.NewReaderSize(conn, 4<<10)}, nil
}

// Close closes the connection.
func (w *Writer) Close() error { return w.conn.Close() }

// Post sends a JSON body and returns the answer, which is valid until the next
// Post. Any status but 201 is an error that says what the server said.
func (w *Writer) Post(path, token string, body []byte) ([]byte, error) {
	w.out = append(w.out[:0], "POST "...)
	w.out = append(append(w.out, path...), " HTTP/1.1\r\nHost: "...)
	w.out = append(append(w.out, w.addr...), "\r\nContent-Type: application/json\r\nContent-Length: "...)
	w.out = strconv.AppendInt(w.out, int64(len(body)), 10)
	if token != "" {
		w.out = append(append(w.out, "\r\nAuthorization: Bearer "...), token...)
	}
	w.out = append(append(w.out, "\r\n\r\n"...), body...)
	if _, err := w.conn.Write(w.out); err != nil {
		return nil, err
	}
	return w.read()
}

func (w *Writer) read() ([]byte, error) {
	line, err := w.line()
	if err != nil {
		return nil, err
	}
	status := string(line)
	length, chunked := 0, false
	for {
		if line, err = w.line(); err != nil {
			return nil, err
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		}
		if err != nil {
			return nil, fmt.Errorf("header %q", line)
		}
	}
	if err := w.body(length, chunked); err != nil {
		return nil, err
	}
	if len(status) < 12 || status[9:12] != "201" {
		return nil, fmt.Errorf("%s: %s", status, w.answer)
	}
	return w.answer, nil
}

func (w *Writer) body(length int, chunked bool) (err error) {
	if chunked {
		w.answer, err = io.ReadAll(httputil.NewChunkedReader(w.reader))
		if err == nil {
			_, err = w.line() // the empty one after the last chunk
		}
		return err
	}
	if cap(w.answer) < length {
		w.answer = make([]byte, length)
	}
	w.answer = w.answer[:length]
	_, err = io.ReadFull(w.reader, w.answer)
	return err
}

// line returns the next line of the head, without its end.
func (w *Writer) line() ([]byte, error) {
	line, err := w.reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}
