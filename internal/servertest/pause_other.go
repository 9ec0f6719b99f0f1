//go:build !unix

package servertest

// Pause stops a process where it stands, which this system cannot.
func (s *Server) Pause() { s.t.Helper(); s.t.Fatal("a process can be paused on unix alone") }

// Continue lets a paused process go on.
func (s *Server) Continue() {}
