package servertest

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The rowcast command is built once a test process, and once more where it has to
// have failpoints.
var (
	binary = sync.OnceValues(func() (string, error) { return build("") })
	mortal = sync.OnceValues(func() (string, error) { return build("failpoint") })
)

func build(tags string) (string, error) {
	dir, err := os.MkdirTemp("", "rowcast-binary-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "rowcast")
	out, err := exec.Command("go", "build", "-tags", tags, "-o", path, "github.com/rowcast/rowcast/cmd/rowcast").CombinedOutput()
	if err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return path, nil
}

// Binary returns the path of the rowcast command, built from this tree.
func Binary(t testing.TB) string {
	t.Helper()
	return built(t, binary)
}

func built(t testing.TB, build func() (string, error)) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// StartProcess is Start with the rowcast command in a process of its own, which
// can be killed. The embedded Server is nil.
func StartProcess(t testing.TB, o Options) *Server {
	t.Helper()
	return start(&Server{t: t, options: o, Dir: t.TempDir(), process: true})
}

// Command runs the rowcast command on the documents, which no server serves, and
// returns what it says and its exit status.
func Command(t testing.TB, o Options, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	s := declare(&Server{t: t, options: o, Dir: t.TempDir()})
	cmd := exec.CommandContext(t.Context(), Binary(t), append(args, "--config", "rowcast.yaml")...)
	cmd.Dir = s.Dir
	var out, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaint
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return out.String(), complaint.String(), cmd.ProcessState.ExitCode()
}

func (s *Server) startProcess() {
	s.t.Helper()
	cmd := s.command()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(s.Dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	_ = log.Close()
	s.cmd, s.URL = cmd, ""
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if _, url, found := strings.Cut(lines.Text(), "listening on "); found {
			s.URL = strings.TrimSpace(url)
			break
		}
	}
	drained := make(chan struct{})
	s.drained = drained
	if s.URL == "" {
		close(drained)
		s.endedEarly()
		return
	}
	go func() {
		defer close(drained)
		for lines.Scan() { // a full pipe would stop the server
		}
	}()
}

// command is how the process is started: with the failpoint once.
func (s *Server) command() *exec.Cmd {
	s.t.Helper()
	build := binary
	if s.options.Failpoint != "" {
		build = mortal
	}
	cmd := exec.Command(built(s.t, build), "serve", "--config", filepath.Join(s.Dir, "rowcast.yaml"))
	cmd.Dir = s.Dir
	if s.options.Failpoint != "" {
		cmd.Env = append(os.Environ(), failpointVariable+"="+s.options.Failpoint)
		s.doomed, s.options.Failpoint = true, ""
	}
	return cmd
}

// Kill ends a process as kill -9 does.
func (s *Server) Kill() {
	s.t.Helper()
	_ = s.cmd.Process.Kill()
	s.doomed = false
	_ = s.wait() // it says no more than that it was killed
}

func (s *Server) stopProcess() {
	s.t.Helper()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	doomed := s.doomed
	s.doomed = false
	if err := s.wait(); err != nil && !doomed {
		said, _ := os.ReadFile(filepath.Join(s.Dir, "server.log"))
		s.t.Errorf("SIGTERM ended the server with %v:\n%s", err, said)
	}
}

func (s *Server) wait() error {
	<-s.drained
	err := s.cmd.Wait()
	s.cmd = nil
	return err
}
