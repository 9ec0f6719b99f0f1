package sqlite

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/schema"
)

// unavailable are the codes of a datastore that cannot be reached or written,
// whatever the request.
var unavailable = []sqlite3.ErrorCode{
	sqlite3.FULL, sqlite3.IOERR, sqlite3.CANTOPEN, sqlite3.BUSY, sqlite3.LOCKED,
	sqlite3.READONLY, sqlite3.PROTOCOL, sqlite3.CORRUPT, sqlite3.NOTADB,
}

// fail wraps an error of SQLite once, with what was attempted.
func fail(attempt string, err error) error {
	for _, code := range unavailable {
		if errors.Is(err, code) {
			return fmt.Errorf("%w: %s: %w", store.ErrUnavailable, attempt, err)
		}
	}
	if errors.Is(err, sqlite3.INTERRUPT) {
		return fmt.Errorf("%w: %s", store.ErrTimeout, attempt)
	}
	return fmt.Errorf("%s: %w", attempt, err)
}

func isUnique(err error) bool {
	return errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) ||
		errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY) ||
		errors.Is(err, sqlite3.CONSTRAINT_ROWID)
}

// conflicting reads the field from SQLite's message, which is the only place
// that names it: "UNIQUE constraint failed: orders.title".
func conflicting(e *schema.Entity, message string) int {
	_, column, _ := strings.Cut(message, "UNIQUE constraint failed: ")
	name, found := strings.CutPrefix(column, e.Table+".")
	if !found {
		return -1
	}
	for i, f := range e.Fields {
		if strings.EqualFold(f.Name, name) {
			return i
		}
	}
	return -1
}
