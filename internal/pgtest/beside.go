package pgtest

import (
	"os"
	"os/exec"
	"testing"
)

// Beside prepares a program that a test starts next to the server, such as a
// pooler: it runs as whom the server runs as, never as root, and is interrupted
// when the thread that starts it ends.
func Beside(cmd *exec.Cmd) error { return unprivileged(cmd) }

// Folder makes a folder that such a program may write to. It is gone at the end
// of the test.
func Folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rowcast-beside-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // what a killed program writes late stays in the system's folder
	if err := own(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
