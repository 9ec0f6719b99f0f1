package production

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/pgtest"
)

// patience bounds every wait for what must come.
const patience = 2 * time.Minute

// program is a program of others that runs beside rowcast: a pooler, a proxy.
type program struct {
	name  string
	log   string // the file with all it says
	cmd   *exec.Cmd
	ended chan struct{}
}

// begin starts a program as an unprivileged user, and has it ended with the test.
func begin(t *testing.T, dir, path string, args ...string) *program {
	t.Helper()
	p := &program{name: filepath.Base(path), log: filepath.Join(dir, filepath.Base(path)+".said"), ended: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	p.cmd.Env = append(os.Environ(), "HOME="+dir)
	if err := pgtest.Beside(p.cmd); err != nil {
		t.Fatal(err)
	}
	started := make(chan error)
	go func() {
		// The kernel interrupts the program with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end(t) })
	return p
}

// end terminates the program and waits for it. Twice does no harm.
func (p *program) end(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
		t.Errorf("%s does not end", p.name)
	}
}

// until waits for a condition; false where the program ended before.
func (p *program) until(t *testing.T, there func() bool) bool {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !there() {
		select {
		case <-tick.C:
		case <-p.ended:
			return false
		case <-deadline:
			t.Fatalf("%s is not ready:\n%s", p.name, p.said())
		}
	}
	return true
}

func (p *program) said() string {
	text, _ := os.ReadFile(p.log)
	return string(text)
}

// find returns the path of a program that must be installed.
func find(t *testing.T, name, debian string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} { // not in everybody's PATH
		if path := filepath.Join(dir, name); isFile(path) {
			return path
		}
	}
	t.Fatalf("%s is not installed; these tests run it (Debian: apt-get install %s; go run ./internal/verify does it)", name, debian)
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// put writes a file that the unprivileged user may read.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- another user reads it
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { // #nosec G306 -- likewise
		t.Fatal(err)
	}
	return path
}

// eventually waits for a condition that nothing signals.
func eventually(t *testing.T, what string, there func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !there() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("it never comes: %s", what)
		}
	}
}

// answers reports whether somebody listens.
func answers(network, address string) bool {
	conn, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// replace is strings.Replacer that insists: every old text must be there.
func replace(t *testing.T, text string, oldnew ...string) string {
	t.Helper()
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(text, oldnew[i]) {
			t.Fatal(fmt.Errorf("the text does not contain %q:\n%s", oldnew[i], text))
		}
		text = strings.ReplaceAll(text, oldnew[i], oldnew[i+1])
	}
	return text
}
