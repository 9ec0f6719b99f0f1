package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// errHeld is what tryLock answers while another process holds the file.
var errHeld = errors.New("held by another process")

const lockPoll = 50 * time.Millisecond

// fileLock holds PATH.lock. The file is never removed: a process that waits on
// a removed one and a process that made a new one would both own the datastore.
type fileLock struct{ file *os.File }

// acquire takes the lock, waiting at most wait for its holder to end.
func acquire(ctx context.Context, path, datastore string, wait time.Duration) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator says where the datastore is
	if err != nil {
		return nil, fmt.Errorf("lock of datastore %s: %w", datastore, err)
	}
	if err := poll(ctx, f, wait); err != nil {
		holder := holderOf(f)
		_ = f.Close() // nothing was written
		if errors.Is(err, errHeld) {
			return nil, fmt.Errorf("datastore %s is in use by process %s, which holds %s; stop that process or give this one a file of its own", datastore, holder, path)
		}
		return nil, fmt.Errorf("lock of datastore %s: %w", datastore, err)
	}
	if err := writePID(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock of datastore %s: %w", datastore, err), f.Close())
	}
	return &fileLock{file: f}, nil
}

func poll(ctx context.Context, f *os.File, wait time.Duration) error {
	limit := time.NewTimer(wait)
	defer limit.Stop()
	tick := time.NewTicker(min(lockPoll, wait))
	defer tick.Stop()
	for {
		err := tryLock(f)
		if !errors.Is(err, errHeld) {
			return err
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return errHeld
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func holderOf(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
		return pid
	}
	return "(unknown)"
}

// release lets go of the lock: closing the file does.
func (l *fileLock) release() error { return l.file.Close() }
