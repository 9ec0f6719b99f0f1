package document

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Refusal is one reason not to boot: where, what is wrong, and the way out.
type Refusal struct {
	Pos     Pos
	Message string // what is wrong, naming the key, then the way out
	Snippet string // the source line with a caret below, or ""
}

// String returns one line: file:line:col: message.
func (r Refusal) String() string { return r.Pos.String() + ": " + r.Message }

// Refusals is every reason found, in file order. A non-empty Refusals is an error.
type Refusals []Refusal

// Error returns one line for each refusal.
func (rs Refusals) Error() string {
	lines := make([]string, len(rs))
	for i, r := range rs {
		lines[i] = r.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns rs as an error, nil when nothing was refused.
func (rs Refusals) Err() error {
	if len(rs) == 0 {
		return nil
	}
	return rs
}

// Add appends refusals.
func (rs *Refusals) Add(more ...Refusal) { *rs = append(*rs, more...) }

// Refuse appends a refusal without a snippet, for what has no place in a tree.
func (rs *Refusals) Refuse(pos Pos, format string, args ...any) {
	rs.Add(Refusal{Pos: pos, Message: fmt.Sprintf(format, args...)})
}

// Sort orders by file, line and column; what stands at one place keeps its
// order. It also drops repetitions.
func (rs *Refusals) Sort() {
	slices.SortStableFunc(*rs, func(a, b Refusal) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col),
		)
	})
	*rs = slices.Compact(*rs)
}

// Print writes each refusal as one line, file:line:col: message, and its
// snippet indented below.
func (rs Refusals) Print(w io.Writer) error {
	var b strings.Builder
	for _, r := range rs {
		b.WriteString(r.String())
		b.WriteByte('\n')
		for line := range strings.Lines(r.Snippet) {
			b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
