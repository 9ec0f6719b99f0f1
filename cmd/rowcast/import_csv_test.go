package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// rowsOf reads CSV of the columns a (text), n (number), b (boolean) and o (object).
func rowsOf(t *testing.T, text string, limit int) (got []string) {
	t.Helper()
	l, _, err := openLines("-", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	l.limit = limit
	r := &csvRows{lines: l, comma: ','}
	if err := r.header(nil); err != nil {
		return []string{"header: " + err.Error()}
	}
	kinds := map[string]kind{"n": number, "b": boolean, "o": object, "l": array}
	for _, name := range r.columns {
		r.kinds = append(r.kinds, kinds[name])
	}
	for {
		rec, err := r.next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		where := fmt.Sprint(rec.line)
		if rec.last != rec.line {
			where += fmt.Sprint("-", rec.last)
		}
		got = append(got, where+" "+rec.reason+string(rec.body))
	}
}

func TestCSVBecomesRows(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain":                     {"a,n\nx,1\ny,2\n", []string{`2 {"a":"x","n":1}`, `3 {"a":"y","n":2}`}},
		"without a last line end":   {"a,n\r\nx,1", []string{`2 {"a":"x","n":1}`}},
		"a byte order mark":         {"\uFEFFa\nx\n", []string{`2 {"a":"x"}`}},
		"blank lines":               {"\n\r\na\n\nx\n\n", []string{`5 {"a":"x"}`}},
		"null and the empty text":   {"a,n,b,o\n,,,\n\"\",\"\",\"\",\"\"\n", []string{`2 {"a":null,"n":null,"b":null,"o":null}`, `3 {"a":"","n":null,"b":null,"o":null}`}},
		"quotes":                    {"a,n\n\"x \"\"y\"\", z\",\"1\"\n", []string{`2 {"a":"x \"y\", z","n":1}`}},
		"line breaks in quotes":     {"a,n\n\"x\r\ny\n\",1\nz,2\n", []string{`2-4 {"a":"x\r\ny\n","n":1}`, `5 {"a":"z","n":2}`}},
		"a header in quotes":        {"\"a\",\"n\"\nx,1\n", []string{`2 {"a":"x","n":1}`}},
		"what looks like a number":  {"a,n\n1,01\n", []string{`2 {"a":"1","n":"01"}`}},
		"numbers as JSON has them":  {"n\n-0.5e10\n1 \n+1\n1,\n", []string{`2 {"n":-0.5e10}`, `3 {"n":"1 "}`, `4 {"n":"+1"}`, `5 has 2 cells, and the first line names 1 fields`}},
		"booleans":                  {"b\ntrue\nFALSE\nyes\n", []string{`2 {"b":true}`, `3 {"b":false}`, `4 {"b":"yes"}`}},
		"objects and arrays":        {"o,l\n\"{\"\"x\"\": 1}\",[]\n\"{\n}\",{}\n", []string{`2 {"o":{"x": 1},"l":[]}`, `3-4 {"o":{},"l":"{}"}`}},
		"too few and too many":      {"a,n\nx\nx,1,2\nx,1\n", []string{`2 has 1 cells, and the first line names 2 fields`, `3 has 3 cells, and the first line names 2 fields`, `4 {"a":"x","n":1}`}},
		"not UTF-8":                 {"a,n\n\xff,1\nx,\xff\ny,2\n", []string{`2 a is not valid UTF-8`, `3 n is not valid UTF-8`, `4 {"a":"y","n":2}`}},
		"a quote inside":            {"a,n\nx\"y,1\nz,2\n", []string{`2 cell 1 has a quote inside: put the cell in quotes and double the quote`, `3 {"a":"z","n":2}`}},
		"behind a closing quote":    {"a,n\n1,\"x\" y\nz,2\n", []string{`2 cell 2 goes on behind its closing quote: double the quotes inside it`, `3 {"a":"z","n":2}`}},
		"a quote that never closes": {"a,n\nx,1\ny,\"2\nz,3\n", []string{`2 {"a":"x","n":1}`, `3-4 cell 2 opens a quote that is never closed`}},
		"a lone carriage return":    {"a,n\nx\ry,1\r\n", []string{`2 {"a":"x\ry","n":1}`}},
		"no file":                   {"", []string{"header: the file is empty: its first line must name the fields"}},
		"a name twice":              {"a,n,a\n", []string{`header: two columns are named "a"`}},
		"a column without a name":   {"a,,n\n", []string{"header: column 2 has no name: the first line must name the fields"}},
		"a name that is not UTF-8":  {"a,\xff\n", []string{"header: the name of column 2 is not valid UTF-8"}},
		"a broken header":           {"a,b\"\n", []string{"header: line 1, which must name the fields, cell 2 has a quote inside: put the cell in quotes and double the quote"}},
	} {
		if got := rowsOf(t, c.text, maxRow); !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, c.want)
		}
	}
}

// A row that is too long is refused without being held, and those after it are read.
func TestARowThatIsTooLongIsPassedOver(t *testing.T) {
	const limit = 200 << 10 // more than is read at once
	long := strings.Repeat("x", limit)
	lines := strings.Repeat(strings.Repeat("y", 40<<10-1)+"\n", 6)
	got := rowsOf(t, "a,n\n1,1\n"+long+",2\n\""+lines+"\",3\n\""+long+"\"\"\nend\",4\n5,5\n", limit)
	want := []string{`2 {"a":"1","n":1}`, `3 is longer than 200.0 KiB`, `4-10 is longer than 200.0 KiB`, `11-12 is longer than 200.0 KiB`, `13 {"a":"5","n":5}`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	l, _, err := openLines("-", strings.NewReader(`{"a":"`+long+"\"}\n{}\n"))
	if err != nil {
		t.Fatal(err)
	}
	l.limit = limit
	r := &ndjson{lines: l}
	first, err := r.next()
	if err != nil || first.reason != "is longer than 200.0 KiB" || len(first.text) > maxShown {
		t.Errorf("got %q, %v", first.reason, err)
	}
	if second, err := r.next(); err != nil || second.line != 2 || string(second.body) != "{}" {
		t.Errorf("got %+v, %v", second, err)
	}
}

func TestProgressSaysWhatIsLeft(t *testing.T) {
	for _, c := range []struct {
		p    progress
		done tally
		want string
	}{
		{progress{total: tally{bytes: -1}}, tally{500, 2 << 20}, "500 rows  2.0 MiB  50 rows/s"},
		{progress{total: tally{bytes: 4 << 20}}, tally{500, 1 << 20}, " 25%  500 rows  1.0 MiB  50 rows/s  30s left"},
		{progress{total: tally{bytes: 4 << 20}, base: tally{300, 2 << 20}, bar: true}, tally{500, 3 << 20}, "[##################......]  75%  500 rows  3.0 MiB  20 rows/s  10s left"},
		{progress{total: tally{rows: 1000}}, tally{1000, 512}, "100%  1000 rows  0.5 KiB  100 rows/s  0s left"},
	} {
		if got := c.p.text(c.done, 10*time.Second); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// FuzzCSV holds the reader against that of the standard library: what both take
// they read alike, and whatever comes is read to its end.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "a\n\"x\"\"\r\ny\"\n", "a,b\r\n,\"\"\r\n", "a\n\"x\ny\n", "a\nx\"y\n", "a\n\r\n\"\"z\n", "a,b\n\"\n\",\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, _, err := openLines("-", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		r := &csvRows{lines: l, comma: ','}
		theirs := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\uFEFF")))
		theirs.FieldsPerRecord = -1
		// Up to the first fault, after which each goes its way. So do they where a
		// carriage return ends no line: the library drops some of those.
		agreed := strings.Count(text, "\r") == strings.Count(text, "\r\n")
		for last := 0; ; {
			cells, rec, err := r.record()
			want, fault := theirs.Read()
			if errors.Is(err, io.EOF) {
				if agreed && !errors.Is(fault, io.EOF) {
					t.Fatalf("ends at line %d, where there is %q %v", last, want, fault)
				}
				return
			}
			if err != nil || rec.line <= last || rec.last < rec.line {
				t.Fatalf("line %d to %d after %d: %v", rec.line, rec.last, last, err)
			}
			last = rec.last
			if agreed = agreed && fault == nil && rec.reason == ""; !agreed {
				continue
			}
			var got []string
			for _, c := range cells {
				got = append(got, strings.ReplaceAll(string(c.text), "\r\n", "\n"))
			}
			for i := range want {
				want[i] = strings.ReplaceAll(want[i], "\r\n", "\n")
			}
			if !slices.Equal(got, want) {
				t.Fatalf("line %d: got %q, want %q", rec.line, got, want)
			}
		}
	})
}
