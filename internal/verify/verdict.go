package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
)

// verdict passes on what a fuzz run prints, up to the line that says it failed,
// which it holds until the run has ended.
//
// Go's fuzz engine now and then takes the end of -fuzztime for a failure of the
// target (go.dev/issue/75804, mended in Go 1.27): it then prints "context
// deadline exceeded" as the only reason, and writes no failing input. A target
// that really fails prints its own reason and the input's file.
type verdict struct {
	to   io.Writer
	line []byte // without its end as yet
	held []byte // from the line that says it failed
}

// clockAlone is all that such a run prints from there.
var clockAlone = regexp.MustCompile(`^--- FAIL: Fuzz\w+ \([0-9.]+s\)\n    context deadline exceeded\nFAIL\n(exit status 1\n)?(FAIL\t\S+\t[0-9.]+s\n)?(FAIL\n)?$`)

// Write implements io.Writer.
func (v *verdict) Write(text []byte) (int, error) {
	v.line = append(v.line, text...)
	for {
		end := bytes.IndexByte(v.line, '\n') + 1
		if end == 0 {
			return len(text), nil
		}
		if err := v.pass(v.line[:end]); err != nil {
			return 0, err
		}
		v.line = v.line[end:]
	}
}

func (v *verdict) pass(line []byte) error {
	if len(v.held) > 0 || bytes.HasPrefix(line, []byte("--- FAIL: ")) {
		v.held = append(v.held, line...)
		return nil
	}
	_, err := v.to.Write(line)
	return err
}

// judge prints what is held and returns failed, which is the run's own end;
// unless the engine's clock is all there was.
func (v *verdict) judge(failed error) error {
	rest := slices.Concat(v.held, v.line)
	if failed != nil && clockAlone.Match(rest) {
		_, err := fmt.Fprintln(v.to, "the time was over in the middle of an input; nothing failed (go.dev/issue/75804)")
		return err
	}
	if _, err := v.to.Write(rest); err != nil && failed == nil {
		return err
	}
	return failed
}
