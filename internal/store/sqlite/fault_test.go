package sqlite

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// faultVFS is the operating system with faults: between SQLite and the files,
// so that everything above runs as it does on a broken disk.
type faultVFS struct {
	vfs.VFSFilename
	name  string
	syncs atomic.Bool // fsync of the write-ahead log fails
	full  atomic.Bool // writes to the write-ahead log find no room
}

// newFaultVFS registers a VFS for the test's stores.
func newFaultVFS(t *testing.T) *faultVFS {
	t.Helper()
	system, ok := vfs.Find("os").(vfs.VFSFilename)
	if !ok {
		t.Fatal("the VFS of the operating system takes no file names")
	}
	f := &faultVFS{VFSFilename: system, name: "fault-" + strings.ReplaceAll(t.Name(), "/", "-")}
	vfs.Register(f.name, f)
	t.Cleanup(func() { vfs.Unregister(f.name) })
	return f
}

func (f *faultVFS) failSyncs(fail bool) { f.syncs.Store(fail) }

// OpenFilename implements vfs.VFSFilename.
func (f *faultVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := f.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	if flags&vfs.OPEN_WAL != 0 {
		return &faultWAL{File: file, fault: f}, flags, nil
	}
	shared, ok := file.(vfs.FileSharedMemory)
	if !ok {
		return file, flags, nil
	}
	return shared, flags, nil
}

type faultWAL struct {
	vfs.File
	fault *faultVFS
}

// Sync implements vfs.File.
func (w *faultWAL) Sync(flags vfs.SyncFlag) error {
	if w.fault.syncs.Load() {
		return vfs.SystemError(syscall.EIO, sqlite3.IOERR_FSYNC)
	}
	return w.File.Sync(flags)
}

// WriteAt implements vfs.File.
func (w *faultWAL) WriteAt(p []byte, off int64) (int, error) {
	if w.fault.full.Load() {
		return 0, sqlite3.FULL
	}
	return w.File.WriteAt(p, off)
}
