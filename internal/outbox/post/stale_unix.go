//go:build unix

package post

import (
	"net"
	"syscall"
)

// readable reports whether a read of the connection would come back at once:
// with data, an end or an error. What it reads is lost.
func readable(conn net.Conn) bool {
	s, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return true
	}
	at := true
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, err := syscall.Read(int(fd), b[:])
		at = err != syscall.EAGAIN && err != syscall.EWOULDBLOCK
		return true
	})
	return at || err != nil
}
