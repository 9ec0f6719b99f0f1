package postgres

import (
	"errors"
	"io"
	"net"
	"strings"
)

// brokenPipe reports a connection that ended while it was used.
func brokenPipe(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "conn closed") // pgx has no value for it
}
