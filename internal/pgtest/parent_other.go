//go:build unix && !linux

package pgtest

import "syscall"

func withParent(*syscall.SysProcAttr) {}
