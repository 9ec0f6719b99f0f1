package sqltext

import (
	"fmt"
	"io/fs"
)

// Step takes the log's own tables one version further. A step only adds, so
// that the release before still reads and writes what the newest made.
type Step struct {
	Name string // of its file, for errors
	SQL  string
}

// Steps reads the numbered files system/*.sql, each one version, in order.
func Steps(files fs.FS) ([]Step, error) {
	names, err := fs.Glob(files, "system/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list the system tables: %w", err)
	}
	steps := make([]Step, len(names))
	for i, name := range names {
		sql, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read the system tables: %w", err)
		}
		steps[i] = Step{Name: name, SQL: string(sql)}
	}
	return steps, nil
}

// Upgrade applies the steps that tables of that version lack, and then sets the
// version by its statement. Tables of a newer release are refused. The caller
// has begun a transaction and undoes it after an error.
func Upgrade(steps []Step, version int, set string, exec func(attempt, sql string) error) error {
	if version > len(steps) {
		return fmt.Errorf("the system tables are of version %d and this release knows %d: run the newer release, or restore a backup from before it ran", version, len(steps))
	}
	if version == len(steps) {
		return nil
	}
	for _, step := range steps[version:] {
		if err := exec("apply "+step.Name, step.SQL); err != nil {
			return err
		}
	}
	return exec("write the version of the system tables", fmt.Sprintf(set, len(steps)))
}
