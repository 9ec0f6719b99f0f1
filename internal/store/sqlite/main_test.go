package sqlite

import (
	"os"
	"testing"
)

// TestMain lets a test run this binary as another process.
func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		os.Exit(runChild(path, os.Getenv(childTask)))
	}
	os.Exit(m.Run())
}
