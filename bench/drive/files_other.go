//go:build !unix

package drive

// RaiseFileLimit has nothing to raise here.
func RaiseFileLimit() error { return nil }
