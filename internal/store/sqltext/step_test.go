package sqltext

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestAnUpgradeAppliesWhatIsMissing(t *testing.T) {
	steps, err := Steps(fstest.MapFS{
		"system/002.sql": {Data: []byte("second")}, "system/001.sql": {Data: []byte("first")}, "system/notes.txt": {}, "other/003.sql": {},
	})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		version int
		failing string
		want    []string
		refused string
	}{
		"a new datastore":       {0, "", []string{"first", "second", "set 2"}, ""},
		"one of the last":       {1, "", []string{"second", "set 2"}, ""},
		"one of this":           {2, "", nil, ""},
		"one of a newer":        {3, "", nil, "newer release"},
		"a step that is broken": {0, "second", []string{"first", "second"}, "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			var ran []string
			err := Upgrade(steps, c.version, "set %d", func(_, sql string) error {
				ran = append(ran, sql)
				if sql == c.failing {
					return broken
				}
				return nil
			})
			if !slices.Equal(ran, c.want) {
				t.Errorf("ran %q, want %q", ran, c.want)
			}
			if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("error %v, want %q", err, c.refused)
			}
		})
	}
}
