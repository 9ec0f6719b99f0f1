package main

import (
	"strings"
	"testing"
)

func TestABenchmarksMetricsAreRead(t *testing.T) {
	output := []byte("goos: linux\nBenchmarkOther-2 \t 1\t 9 ns/op\nBenchmarkClaims-2   \t     400\t  14550125 ns/op\t       151.0 max-ms\t         1.206 p50-ms\nPASS\n")
	got := benchMetrics(output, "BenchmarkClaims")
	if len(got) != 3 || got["max-ms"] != 151 || got["p50-ms"] != 1.206 || got["ns/op"] != 14550125 {
		t.Errorf("got %v", got)
	}
}

// A pair decides by its own ratio: a slow moment of the machine is in both its turns.
func TestIsolationIsJudgedByPairs(t *testing.T) {
	without := []isolated{{rate: 1000, p99: 10}, {rate: 500, p99: 100}, {rate: 1000, p99: 10}}
	kept := []isolated{{rate: 950, p99: 14}, {rate: 480, p99: 120}, {rate: 100, p99: 90}}
	lost := []isolated{{rate: 890, p99: 16}, {rate: 440, p99: 120}, {rate: 890, p99: 16, wrong: 1}}
	for name, test := range map[string]struct {
		turns []isolated
		want  bool
	}{"kept": {kept, true}, "lost": {lost, false}} {
		for _, row := range isolationRows(onSQLite, test.turns, without) {
			if *row.Met != test.want {
				t.Errorf("%s: %s: got met %v; %s", name, row.Figure, *row.Met, row.Limit)
			}
		}
	}
}

func TestTheDocumentDeclaresTheTargets(t *testing.T) {
	got := targetsDocument("127.0.0.1:9", append(accepting(2), misbehaving...))
	for _, want := range []string{`t02: {url: "http://127.0.0.1:9/accept/t02"`, `hole: {url: "http://127.0.0.1:9/hole/hole"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}
