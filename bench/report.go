package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowcast/rowcast/bench/drive"
)

// Row is one line of the table. Floor is 0 where a figure has none.
type Row struct {
	Figure  string  `json:"figure"`
	Unit    string  `json:"unit,omitempty"`
	Rowcast float64 `json:"rowcast"`
	Floor   float64 `json:"floor,omitempty"`
	Limit   string  `json:"limit,omitempty"`
	Met     *bool   `json:"met,omitempty"` // nil where there is no limit
	Note    string  `json:"note,omitempty"`
}

func (r Row) judge(met bool, format string, args ...any) Row {
	r.Met, r.Limit = &met, fmt.Sprintf(format, args...)
	return r
}

func (r Row) ratio() float64 { return r.Rowcast / r.Floor }

func (r Row) atMostOfFloor(x float64) Row  { return r.judge(r.ratio() <= x, "≤ %.1f of it", x) }
func (r Row) atLeastOfFloor(x float64) Row { return r.judge(r.ratio() >= x, "≥ %.1f of it", x) }

// atMostOfPairs judges by the median of pairs that were measured side by side,
// which says more than the two medians do.
func (r Row) atMostOfPairs(x float64, ratios []float64) Row {
	m := median(ratios)
	return r.judge(m <= x, "≤ %.2f of that with none (median of %d pairs %.3f, from %.2f to %.2f)", x, len(ratios), m, slices.Min(ratios), slices.Max(ratios))
}
func (r Row) atMost(x float64) Row  { return r.judge(r.Rowcast <= x, "≤ %.4g", x) }
func (r Row) atLeast(x float64) Row { return r.judge(r.Rowcast >= x, "≥ %.0f", x) }
func (r Row) exactly(x float64) Row { return r.judge(r.Rowcast == x, "%.4g", x) }

// lossRow counts what was lost; frames that had not come when the wait was
// over count as one, and the note says so.
func lossRow(figure string, losses drive.Losses, whole bool) Row {
	sum := losses.Missing + losses.Doubled + losses.Unlike + losses.Gaps + losses.Ended
	row := Row{Figure: figure}
	if !whole {
		sum++
		row.Note = "not every frame came in time or in order; "
	}
	if sum > 0 {
		row.Note += fmt.Sprintf("%+v", losses)
	}
	row.Rowcast = float64(sum)
	return row.exactly(0)
}

// Machine is where the figures were measured.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Commit string `json:"commit"`
	Time   string `json:"time"`
}

// machine describes this one; what cannot be found out stays empty.
func machine() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Time: time.Now().UTC().Format(time.DateOnly)}
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	_, after, _ := strings.Cut(string(cpuinfo), "model name")
	line, _, _ := strings.Cut(after, "\n")
	m.CPU = strings.Trim(line, "\t :")
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	m.Kernel = strings.TrimSpace(string(kernel))
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	m.Commit = string(bytes.TrimSpace(commit))
	return m
}

// Report is one run.
type Report struct {
	Machine Machine `json:"machine"`
	Quick   bool    `json:"quick"`
	Seconds float64 `json:"seconds"`
	Rows    []Row   `json:"rows"`
}

func (r Report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}

// missed names the figures outside their limit.
func (r Report) missed() []string {
	var missed []string
	for _, row := range r.Rows {
		if row.Met != nil && !*row.Met {
			missed = append(missed, row.Figure)
		}
	}
	return missed
}

// markdown is the table of docs/BENCHMARKS.md.
func (r Report) markdown() string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s, %d cores, Linux %s, %s, commit %s, %s; %.0f s", m.CPU, m.Cores, m.Kernel, m.Go, m.Commit, m.Time, r.Seconds)
	if r.Quick {
		b.WriteString("; a quick run: the numbers are too small to compare")
	}
	b.WriteString("\n\n| figure | rowcast | floor | ratio | limit | |\n|---|--:|--:|--:|---|---|\n")
	for _, row := range r.Rows {
		floor, ratio, met := "", "", ""
		if row.Floor != 0 {
			floor, ratio = number(row.Floor, row.Unit), number(row.ratio(), "")
		}
		if row.Met != nil {
			met = map[bool]string{true: "met", false: "**missed**"}[*row.Met]
		}
		if row.Note != "" {
			met += ": " + row.Note
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", row.Figure, number(row.Rowcast, row.Unit), floor, ratio, row.Limit, met)
	}
	return b.String()
}

// putTable replaces what stands between the markers of a document.
func putTable(path, table string) error {
	const begin, end = "<!-- table -->\n", "<!-- /table -->"
	text, err := os.ReadFile(path) // #nosec G304 -- the document that was asked for
	if err != nil {
		return err
	}
	before, rest, begun := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !begun || !ended {
		return fmt.Errorf("%s has no <!-- table --> and <!-- /table -->", path)
	}
	return os.WriteFile(path, []byte(before+begin+table+end+after), 0o600) // #nosec G703 -- the document that was asked for
}

// number writes x with about three digits and its unit.
func number(x float64, unit string) string {
	digits := 2
	switch {
	case x == float64(int64(x)) || x >= 100:
		digits = 0
	case x >= 10:
		digits = 1
	}
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if unit == "" || strings.HasPrefix(unit, "/") {
		return text + unit
	}
	return text + " " + unit
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func milli(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
