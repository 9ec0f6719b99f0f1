package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// importState is how far an import came: the whole of what a later run needs to
// send the very same requests again. It is written after each answer.
type importState struct {
	Version  int             `json:"version"`
	Run      string          `json:"run"` // drawn once: another import of the same file is another
	URL      string          `json:"url"`
	Entity   string          `json:"entity"`
	Size     int64           `json:"size"` // of the file, -1 unknown
	Head     string          `json:"head"` // hash of its beginning
	Encoding string          `json:"encoding"`
	Kinds    map[string]kind `json:"kinds,omitempty"` // of the columns of CSV

	Rows  int `json:"rows"`  // how many go into a request
	Bytes int `json:"bytes"` // how long a request may be

	Offset  int64     `json:"offset"` // all before it is done
	Line    int       `json:"line"`
	Written int       `json:"written"`
	Refused int       `json:"refused"`
	Rejects int64     `json:"rejects"` // the size of the file of refused lines
	Batch   *batch    `json:"batch,omitempty"`
	At      time.Time `json:"at"`
}

// batch is what is left to do of the records behind the offset.
type batch struct {
	Records int      `json:"records"`
	Todo    [][2]int `json:"todo"` // ranges of records, each a request, in order
	Refused []int    `json:"refused,omitempty"`
}

const stateVersion = 1

// forgotten is after how long the server may have forgotten a key: an hour less
// than it says.
const forgotten = 23 * time.Hour

// loadState returns the state of a run before, or nil where there was none.
func loadState(path string) (*importState, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path) // #nosec G304 -- the operator names it
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &importState{}
	if err := json.Unmarshal(text, s); err != nil || s.Version != stateVersion {
		return nil, fmt.Errorf("%s is not the state of an import that this version can go on with; remove it to begin anew", path)
	}
	return s, nil
}

// newState is the state of an import that has not begun.
func newState(o importOptions, l *lines) *importState {
	return &importState{
		Version: stateVersion, Run: rand.Text(), URL: o.url, Entity: o.entity, Size: l.size, Head: l.head, Encoding: o.encoding(),
		Rows: o.batch, Bytes: 1 << 20,
	}
}

// fits says why the state is of another import, or nil.
func (s *importState) fits(path string, o importOptions, l *lines) error {
	var what string
	switch {
	case s.Entity != o.entity || s.URL != o.url:
		what = fmt.Sprintf("of an import of %s at %s", s.Entity, s.URL)
	case s.Size != l.size || s.Head != l.head:
		what = "of an import of another file, or the file has changed"
	case s.Encoding != o.encoding():
		what = "of an import with other flags (" + s.Encoding + ")"
	default:
		return nil
	}
	return fmt.Errorf("%s is %s: call it as before to go on, remove it to begin anew, or name another with --state", path, what)
}

// save replaces the state on disk; "" keeps none.
func (s *importState) save(path string) error {
	if path == "" {
		return nil
	}
	s.At = time.Now().UTC()
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return replaceFile(path, append(text, '\n'))
}

// replaceFile writes a file whole or not at all.
func replaceFile(path string, text []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// rejects is the file of refused lines.
type rejects struct{ file *os.File }

// openRejects opens it and takes back what a killed run added after its last
// state; "" is none.
func openRejects(path string, size int64) (*rejects, error) {
	if path == "" {
		return &rejects{}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600) // #nosec G304 -- the operator names it
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		if err := f.Truncate(min(size, info.Size())); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if _, err := f.Seek(0, 2); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return &rejects{f}, nil
}

// add writes one refused line and returns how much longer the file is.
func (r *rejects) add(rec fileRow) (int64, error) {
	if r.file == nil {
		return 0, nil
	}
	row := any(rec.text)
	if rec.body != nil {
		row = json.RawMessage(rec.body)
	}
	text, err := json.Marshal(struct {
		Line   int    `json:"line"`
		Reason string `json:"reason"`
		Row    any    `json:"row"`
	}{rec.line, rec.reason, row})
	if err != nil {
		return 0, err
	}
	n, err := r.file.Write(append(text, '\n'))
	return int64(n), err
}

func (r *rejects) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
