//go:build !failpoint

package failpoint

// Hit does nothing in a binary without the tag failpoint.
func Hit(Name) {}
