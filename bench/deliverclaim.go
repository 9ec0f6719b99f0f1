package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// claimRounds is how many claims are timed.
const claimRounds = "400"

// claimsOn: how long a claim for one target takes while 100,000 deliveries wait
// for another; the floor is the same while none do. A claim is not to be seen from outside, so it is a benchmark of
// the driver's that is run, and read.
func claimsOn(d driver, pkg string) func(context.Context, *lab) ([]Row, error) {
	return func(ctx context.Context, l *lab) ([]Row, error) {
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkClaims$", "-benchtime", claimRounds+"x", pkg) // #nosec G204 -- fixed names
		cmd.Env = append(cmd.Environ(), "ROWCAST_BENCH_DIR="+l.out)
		output, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, output)
		}
		behind, alone := benchMetrics(output, "BenchmarkClaims/behind"), benchMetrics(output, "BenchmarkClaims/alone")
		l.say("  %s: %v; with none waiting %v", d.name, behind, alone)
		var rows []Row
		for _, q := range []string{"p50", "p99", "max"} {
			value, told := behind[q+"-ms"]
			if !told {
				return nil, fmt.Errorf("%s tells no %s:\n%s", strings.Join(cmd.Args, " "), q, output)
			}
			row := Row{Figure: fmt.Sprintf("claim on %s behind 100,000 of a dead target, %s of %s", d.name, q, claimRounds), Unit: "ms", Rowcast: value, Floor: alone[q+"-ms"]}
			if q == "p99" {
				row = row.atMost(5)
			}
			rows = append(rows, row)
		}
		return rows, nil
	}
}

// benchMetrics reads what a benchmark reports, by unit.
func benchMetrics(output []byte, name string) map[string]float64 {
	metrics := map[string]float64{}
	for line := range bytes.Lines(output) {
		fields := strings.Fields(string(line))
		if len(fields) < 2 || !strings.HasPrefix(fields[0], name) {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if x, err := strconv.ParseFloat(fields[i], 64); err == nil {
				metrics[fields[i+1]] = x
			}
		}
	}
	return metrics
}
