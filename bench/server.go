package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is a process under measurement.
type server struct {
	name string // "rowcast" or "floor"
	addr string // host:port
	dir  string // removed when it stops
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of Wait, once done is closed
}

// launch starts binary in dir and waits until it says where it listens. The
// process ends with stop, or with ctx; dir goes with it.
func launch(ctx context.Context, name, dir, binary string, args ...string) (*server, error) {
	s, err := launchIn(ctx, name, dir, binary, args...)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func launchIn(ctx context.Context, name, dir, binary string, args ...string) (*server, error) {
	stderr, err := os.Create(filepath.Join(dir, "stderr.log")) // #nosec G304 -- a folder of ours
	if err != nil {
		return nil, err
	}
	defer func() { _ = stderr.Close() }()
	announced := &announcement{addr: make(chan string, 1)}
	cmd := exec.CommandContext(ctx, binary, args...) // #nosec G204 -- what was just built
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, announced, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{name: name, dir: dir, cmd: cmd, done: make(chan struct{})}
	go func() {
		s.err = cmd.Wait()
		close(s.done)
	}()
	select {
	case s.addr = <-announced.addr:
		return s, nil
	case <-s.done:
		return nil, fmt.Errorf("%s ended before it listened: %w\n%s", name, s.err, s.complaints())
	case <-time.After(20 * time.Second):
		return nil, errors.Join(fmt.Errorf("%s does not say where it listens\n%s", name, s.complaints()), s.stop())
	}
}

// announcement finds the line "listening on http://HOST:PORT" in what a server prints.
type announcement struct {
	mu   sync.Mutex
	text []byte
	said bool
	addr chan string
}

// Write implements io.Writer.
func (a *announcement) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.said {
		return len(p), nil
	}
	a.text = append(a.text, p...)
	_, after, found := bytes.Cut(a.text, []byte("listening on http://"))
	if addr, _, whole := bytes.Cut(after, []byte("\n")); found && whole {
		a.said = true
		a.addr <- strings.TrimRight(string(addr), "/\r ")
	}
	return len(p), nil
}

// stop ends the process, waits for it and removes its folder.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.done:
	case <-time.After(15 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	return os.RemoveAll(s.dir)
}

// complaints returns the end of what the server wrote to stderr.
func (s *server) complaints() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "stderr.log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// cpu returns the processor time the server has used, user and system.
func (s *server) cpu() (time.Duration, error) {
	p, err := readProcess(s.cmd.Process.Pid)
	return p.used, err
}

// memory returns the resident set of the server in bytes.
func (s *server) memory() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	fields := strings.Fields(after)
	if len(fields) == 0 {
		return 0, errors.New("/proc status has no VmRSS")
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	return kib << 10, err
}
