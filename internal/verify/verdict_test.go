package main

import (
	"bytes"
	"errors"
	"testing"
)

func TestTheEndOfTheFuzzingTimeIsNoFailure(t *testing.T) {
	const progress = "fuzz: elapsed: 10s, execs: 281315 (28011/sec)\n"
	failed := errors.New("exit status 1")
	for name, c := range map[string]struct {
		printed string
		failed  error
		want    error
	}{
		"nothing found": {progress + "PASS\nok  \tx/y\t10.1s\n", nil, nil},
		"the engine's clock": {
			progress + "--- FAIL: FuzzX (10.14s)\n    context deadline exceeded\nFAIL\nexit status 1\nFAIL\tx/y\t10.164s\n", failed, nil,
		},
		"a failing input": {
			progress + "--- FAIL: FuzzX (1.20s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:9: got 1\n    \n    Failing input written to testdata/fuzz/FuzzX/1\nFAIL\nexit status 1\n", failed, failed,
		},
		"a failing input that says the same": {
			progress + "--- FAIL: FuzzX (1.20s)\n    context deadline exceeded\n    \n    Failing input written to testdata/fuzz/FuzzX/1\nFAIL\n", failed, failed,
		},
		"a seed that fails":          {"--- FAIL: FuzzX (0.00s)\n    --- FAIL: FuzzX/seed#0 (0.00s)\n        context deadline exceeded\nFAIL\n", failed, failed},
		"a test that does not build": {"# x/y\nx_test.go:1: undefined\nFAIL\tx/y [build failed]\n", failed, failed},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			v := &verdict{to: &out}
			for _, b := range []byte(c.printed) {
				if _, err := v.Write([]byte{b}); err != nil {
					t.Fatal(err)
				}
			}
			if got := v.judge(c.failed); !errors.Is(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if c.want != nil && out.String() != c.printed {
				t.Errorf("printed %q, want all of it", out.String())
			}
		})
	}
}
