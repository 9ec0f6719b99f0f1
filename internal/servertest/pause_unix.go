//go:build unix

package servertest

import "syscall"

// Pause stops a process where it stands, until Continue; its connections stay.
func (s *Server) Pause() { s.t.Helper(); s.signal(syscall.SIGSTOP) }

// Continue lets a paused process go on.
func (s *Server) Continue() { s.t.Helper(); s.signal(syscall.SIGCONT) }

func (s *Server) signal(what syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(what); err != nil {
		s.t.Fatal(err)
	}
}
