package chaos

import (
	"os"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// TestMain runs the tests on each driver.
func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }
