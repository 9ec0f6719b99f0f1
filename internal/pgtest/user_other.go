//go:build !unix

package pgtest

import (
	"os"
	"os/exec"
)

func own(string) error                 { return nil }
func unprivileged(*exec.Cmd) error     { return nil }
func interrupt(p *os.Process) error    { return p.Kill() }
func interruptNow(p *os.Process) error { return p.Kill() }
