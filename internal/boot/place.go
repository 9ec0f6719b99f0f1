package boot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// place is where a path really leads: absolute, and without symbolic links as
// far as the path is there. Two datastores with one place are one file.
func place(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return follow(path, 0)
}

// maxLinks is how many links that lead nowhere yet are followed.
const maxLinks = 40

func follow(path string, links int) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil {
		return resolved, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	// The file is made at first start; what stands above it may be there already,
	// and so may a link that leads to where it will be.
	dir := filepath.Dir(path)
	if dir == path {
		return path, nil
	}
	if dir, err = follow(dir, links); err != nil {
		return "", err
	}
	path = filepath.Join(dir, filepath.Base(path))
	target, err := os.Readlink(path)
	if err != nil {
		return path, nil //nolint:nilerr // no link, or nothing there yet: this is where it will be
	}
	if links == maxLinks {
		return "", errors.New("too many symbolic links")
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	return follow(target, links+1)
}

// sameFile reports whether two places are one file, hard links included.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
