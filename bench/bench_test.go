package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/bench/drive"
)

// floorBinary is built once for all tests.
var floorBinary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "floor-")
	if err != nil {
		panic(err)
	}
	floorBinary = filepath.Join(dir, "floor")
	if output, err := exec.Command("go", "build", "-o", floorBinary, "./floor").CombinedOutput(); err != nil {
		panic(string(output))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(dir)
		os.Exit(status)
	}))
}

// floorLab is a lab whose both servers are the floor, so that the ways of
// measuring are tested without what they measure.
func floorLab(t *testing.T) *lab {
	t.Helper()
	return &lab{
		sizes: sizes{streams: 10, idle: 10, creates: []int{0, 5}, rounds: 1, window: 300 * time.Millisecond, settle: 10 * time.Millisecond,
			drain: 10 * time.Second, publishings: 1},
		out: t.TempDir(), frameBytes: 400, progress: t.Output(), floor: floorBinary,
	}
}

func TestAServerIsMeasuredAndLeavesNothing(t *testing.T) {
	l := floorLab(t)
	err := on(t.Context(), l.startFloor, func(s *server) error {
		swarm, err := gather(t.Context(), s, 5, false)
		if err != nil {
			return err
		}
		defer swarm.Close()
		written, err := drive.Write(t.Context(), writing(s, "open", 2, 300*time.Millisecond))
		if err != nil {
			return err
		}
		if !l.await(t.Context(), swarm, len(written.IDs)*5) {
			t.Errorf("%d of %d frames came", swarm.Frames(), len(written.IDs)*5)
		}
		swarm.Close()
		if got := swarm.Kept()[0].Bytes; got != l.frameBytes {
			t.Errorf("a frame of the floor has %d bytes, want %d", got, l.frameBytes)
		}
		cpu, err := s.cpu()
		if err != nil || cpu <= 0 {
			t.Errorf("CPU %v, %v; want some", cpu, err)
		}
		memory, err := s.memory()
		if err != nil || memory < 1<<20 {
			t.Errorf("memory %d, %v; want megabytes", memory, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(l.out, "run-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAServerThatDoesNotStartSaysWhy(t *testing.T) {
	_, err := launch(t.Context(), "floor", t.TempDir(), floorBinary, "--listen", "nowhere")
	if err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v, want what it wrote to stderr", err)
	}
}

func TestACancelledRunEndsItsServers(t *testing.T) {
	l := floorLab(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := on(ctx, l.startFloor, func(*server) error {
		cancel()
		return wait(ctx, time.Hour)
	})
	if err == nil {
		t.Error("a cancelled run ended without an error")
	}
}

func TestARowKnowsWhetherItsLimitIsMet(t *testing.T) {
	row := Row{Rowcast: 3, Floor: 2}
	for name, test := range map[string]struct {
		row  Row
		want bool
	}{
		"1.5 of the floor is at most 1.5":      {row.atMostOfFloor(1.5), true},
		"1.5 of the floor is not at most 1.4":  {row.atMostOfFloor(1.4), false},
		"1.5 of the floor is not at least 1.6": {row.atLeastOfFloor(1.6), false},
		"3 is at least 3":                      {row.atLeast(3), true},
		"3 is not at most 2":                   {row.atMost(2), false},
		"nothing lost":                         {lossRow("x", drive.Losses{}, true), true},
		"one stream unlike":                    {lossRow("x", drive.Losses{Unlike: 1}, true), false},
		"frames that did not come":             {lossRow("x", drive.Losses{}, false), false},
	} {
		if *test.row.Met != test.want {
			t.Errorf("%s: got met %v", name, *test.row.Met)
		}
	}
}

func TestTheTableNamesWhatWasMissed(t *testing.T) {
	report := Report{Rows: []Row{
		Row{Figure: "fast", Unit: "ms", Rowcast: 1.234, Floor: 1}.atMostOfFloor(1.5),
		Row{Figure: "slow", Unit: "/s", Rowcast: 12345.6}.atLeast(20000),
	}}
	table := report.markdown()
	for _, want := range []string{"| fast | 1.23 ms | 1 ms | 1.23 | ≤ 1.5 of it | met |", "| slow | 12346/s |  |  | ≥ 20000 | **missed** |"} {
		if !strings.Contains(table, want) {
			t.Errorf("no line %q in\n%s", want, table)
		}
	}
	if got := report.missed(); !slices.Equal(got, []string{"slow"}) {
		t.Errorf("missed %q, want slow", got)
	}
}

func TestTheTableReplacesTheOneInTheDocument(t *testing.T) {
	document := filepath.Join(t.TempDir(), "BENCHMARKS.md")
	if err := os.WriteFile(document, []byte("before\n<!-- table -->\nold\n<!-- /table -->\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := putTable(document, "new\n"); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(document)
	if want := "before\n<!-- table -->\nnew\n<!-- /table -->\nafter\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnUnknownFigureIsRefused(t *testing.T) {
	if _, err := parse([]string{"--only", "latency,speed"}, t.Output()); err == nil || !strings.Contains(err.Error(), `"speed"`) {
		t.Errorf("got %v, want the name and those there are", err)
	}
}
