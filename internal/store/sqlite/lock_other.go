//go:build !windows && (!unix || solaris || illumos || aix)

package sqlite

import (
	"errors"
	"os"
)

func tryLock(*os.File) error {
	return errors.New("this platform has no file lock that ends with its process; use PostgreSQL here")
}
