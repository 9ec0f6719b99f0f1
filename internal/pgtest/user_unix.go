//go:build unix

package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// PostgreSQL refuses to run as root: then it runs as the first of these.
var users = []string{"postgres", "nobody"}

// account returns whom the server runs as; -1 for the caller.
func account() (uid, gid int, err error) {
	if os.Getuid() != 0 {
		return -1, -1, nil
	}
	for _, name := range users {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil {
			return uid, gid, nil
		}
	}
	return 0, 0, errors.New("pgtest: PostgreSQL does not run as root, and there is no user postgres or nobody")
}

func own(dir string) error {
	uid, gid, err := account()
	if err != nil || uid < 0 {
		return err
	}
	return os.Chown(dir, uid, gid)
}

func unprivileged(cmd *exec.Cmd) error {
	uid, gid, err := account()
	if err != nil {
		return err
	}
	// A group of its own: an interrupt at the keyboard ends the tests first,
	// and they end the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	withParent(cmd.SysProcAttr)
	if uid >= 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return nil
}

// interrupt asks for a fast shutdown, interruptNow for one without clean-up.
func interrupt(p *os.Process) error    { return p.Signal(syscall.SIGINT) }
func interruptNow(p *os.Process) error { return p.Signal(syscall.SIGQUIT) }
