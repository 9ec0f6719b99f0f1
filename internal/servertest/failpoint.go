package servertest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// failpointVariable tells a process where to kill itself.
const failpointVariable = "ROWCAST_FAILPOINT"

// endedEarly is for a process that ended before it was ready, which only one
// that is to kill itself may.
func (s *Server) endedEarly() {
	s.t.Helper()
	if s.doomed {
		return
	}
	_ = s.wait()
	said, _ := os.ReadFile(filepath.Join(s.Dir, "server.log"))
	s.t.Fatalf("the server ended before it was ready:\n%s", said)
}

// Died waits until a process has killed itself at Options.Failpoint; then it may
// be started again, without.
func (s *Server) Died() {
	s.t.Helper()
	select {
	case <-s.drained:
	case <-time.After(receiving):
		s.t.Fatalf("the process did not come to its failpoint within %s", receiving)
	}
	s.doomed = false
	if err := s.wait(); err == nil || signalled(err) != syscall.SIGKILL {
		said, _ := os.ReadFile(filepath.Join(s.Dir, "server.log"))
		s.t.Fatalf("the process did not kill itself, it ended with %v:\n%s", err, said)
	}
}

// Gone is closed when a process has ended, in whatever way.
func (s *Server) Gone() <-chan struct{} { return s.drained }

// signalled returns the signal that ended the process.
func signalled(err error) syscall.Signal {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return 0
	}
	return status.Signal()
}

// Doom has the next Start kill itself at a failpoint, as Options.Failpoint does
// the first.
func (s *Server) Doom(failpoint string) { s.options.Failpoint = failpoint }
