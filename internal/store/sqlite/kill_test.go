package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

const (
	childPath = "ROWCAST_TEST_CHILD_PATH"
	childTask = "ROWCAST_TEST_CHILD_TASK"
)

// runChild is the other process: it opens the file and says so, then holds it
// or writes until it is killed, printing what was acknowledged.
func runChild(path, task string) int {
	ctx := context.Background()
	s, err := Open(ctx, Config{Path: path, WALLimit: 256 << 10})
	if err == nil {
		_, err = s.Migrate(ctx, store.Plan{Entities: []*schema.Entity{benchEntity}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("open")
	if task == "hold" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	var out sync.Mutex
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%s-%d-%06d", task, w, n)
				if err := writePair(s, id); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				out.Lock()
				fmt.Println(id)
				out.Unlock()
			}
		})
	}
	wg.Wait()
	return 1
}

// writePair writes a row and its event.
func writePair(s *Store, id string) error {
	row, event := benchRow(0)
	row[0], event.Subject, event.EventID = value.OfText(id), id, "E"+id
	return s.Write(context.Background(), store.Work{Run: func(_ context.Context, tx store.Tx) error {
		if err := tx.Insert(benchEntity, row); err != nil {
			return err
		}
		return tx.Append(event)
	}})
}

// child starts the other process and waits until it holds the file.
func child(t *testing.T, path, task string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childPath+"="+path, childTask+"="+task)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // open until the child is killed
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "open" {
		t.Fatalf("the other process said %q", lines.Text())
	}
	return cmd, lines
}

func TestKilledProcessLosesNoAcknowledgedWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	var acknowledged []string
	for round := range 5 {
		cmd, lines := child(t, path, fmt.Sprint("r", round))
		for n := 0; n < 150+70*round && lines.Scan(); n++ {
			acknowledged = append(acknowledged, lines.Text())
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it still got out
			if id := lines.Text(); strings.Count(id, "-") == 2 {
				acknowledged = append(acknowledged, id)
			}
		}
		_ = cmd.Wait() // killed
		checkLedger(t, path, acknowledged)
	}
	if len(acknowledged) < 1000 {
		t.Errorf("%d writes were acknowledged, want at least 1000 for the test to mean anything", len(acknowledged))
	}
}

// checkLedger opens the file and wants each acknowledged row there, and one
// event for each row there is.
func checkLedger(t *testing.T, path string, acknowledged []string) {
	t.Helper()
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // it was only read
	if _, err := s.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{benchEntity}}); err != nil {
		t.Fatal(err)
	}
	events, rows := map[string]int{}, map[string]bool{}
	err = s.View(t.Context(), func(r store.Reader) error {
		log, err := r.Log(0, 1<<30)
		if err != nil {
			return err
		}
		for i, row := range log {
			events[row.Subject]++
			if row.Seq != int64(i+1) {
				t.Fatalf("event %d has number %d", i, row.Seq)
			}
		}
		all, err := r.Select(benchEntity, store.Query{})
		for _, row := range all {
			rows[row[0].Text()] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range acknowledged {
		if !rows[id] {
			t.Errorf("acknowledged row %s is lost", id)
		}
	}
	for id := range rows {
		if events[id] != 1 {
			t.Errorf("row %s has %d events, want 1", id, events[id])
		}
	}
	if len(events) != len(rows) {
		t.Errorf("%d rows have events, want %d", len(events), len(rows))
	}
}
