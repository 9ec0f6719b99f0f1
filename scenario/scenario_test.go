// Package scenario plays transcripts against the real rowcast command and
// compares what it answers with what they say: a newcomer's first reading of
// how rowcast behaves.
//
// A transcript is testdata/NAME.txt. A line that begins with ">" is a step; the
// lines below it, up to the next step or blank line, are the answer. Lines that
// begin with "#" are prose. What differs from run to run is replaced: ULIDs by
// ID1, ID2 … in order of appearance, times by TIME, bookmarks by ~BOOKMARK.
//
//	> serve SCHEMA                    start on testdata/schema/SCHEMA.yaml
//	> WHO METHOD PATH [BODY]          one request; WHO is name or name:role,role
//	> WHO opens S PATH                open a stream and call it S
//	> WHO resumes S PATH              open S again with the last id it saw
//	> WHO stalls S PATH               open S and stop reading
//	> S reads N                       the next N blocks, heartbeats left out
//	> S reads on, N blocks            read on after a stall; shows the first and the last
//	> S ends                          what still comes, to the end
//	> S hangs up
//	> stop | start | restart | kill -9
//
// go test ./scenario -update writes the answers into the transcripts.
package scenario

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the answers into the transcripts")

func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d transcripts: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := (&player{t: t, ids: map[string]string{}, streams: map[string]*line{}}).play(string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := firstDifference(string(text), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return "line " + itoa(i+1) + ":\n the transcript says " + a + "\n the server says     " + b
		}
	}
	return ""
}
