package pgtest

import "syscall"

// withParent lets a process end when the tests do, be they killed.
func withParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
