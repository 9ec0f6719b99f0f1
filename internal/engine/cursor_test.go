package engine

import (
	"slices"
	"testing"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/value"
)

func testSealer(t testing.TB) *sealer {
	t.Helper()
	s, err := newSealer([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var hardCells = []value.Value{
	{}, value.OfInt(-1), value.OfInt(9007199254740993), value.OfFloat(-0.5), value.OfText(""),
	value.OfText("a\nb\u2028"), value.OfBlob([]byte{0, 255}),
}

func TestACursorOpensToTheCellsItWasSealedWith(t *testing.T) {
	s := testSealer(t)
	got, err := s.open("list", s.seal("list", hardCells), len(hardCells))
	if err != nil || !slices.Equal(got, hardCells) {
		t.Errorf("got %v, %v, want %v", got, err, hardCells)
	}
}

func TestACursorIsGoodForItsOwnListAlone(t *testing.T) {
	s := testSealer(t)
	sealed := s.seal("list", hardCells[:2])
	other, err := newSealer([]byte("another secret of sixteen bytes"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, binding, cursor string
		n                     int
		s                     *sealer
	}{
		{"another list", "other", sealed, 2, s},
		{"another secret", "list", sealed, 2, other},
		{"another number of sort keys", "list", sealed, 3, s},
		{"cut short", "list", sealed[:len(sealed)-2], 2, s},
		{"longer", "list", sealed + "AA", 2, s},
		{"no base64", "list", "!", 2, s},
		{"too short for a nonce", "list", "AAAA", 2, s},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.s.open(c.binding, c.cursor, c.n); !fault.Is(err, fault.InvalidCursor) {
				t.Errorf("got %v, want invalid_cursor", err)
			}
		})
	}
	for i := range len(sealed) {
		bent := []byte(sealed)
		bent[i] = "AB"[bent[i]&1^1]
		if string(bent) == sealed {
			continue
		}
		if _, err := s.open("list", string(bent), 2); !fault.Is(err, fault.InvalidCursor) {
			t.Fatalf("character %d changed: got %v, want invalid_cursor", i, err)
		}
	}
}

func TestTwoCursorsOfOnePlaceDiffer(t *testing.T) {
	s := testSealer(t)
	first, second := s.seal("list", hardCells), s.seal("list", hardCells)
	if first == second {
		t.Error("a cursor tells whether two rows are alike")
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("AAAA", []byte{1, 2})
	f.Add(testSealer(f).seal("list", hardCells), appendCells(nil, hardCells))
	f.Fuzz(func(t *testing.T, cursor string, plain []byte) {
		if _, err := testSealer(t).open("other", cursor, 1); !fault.Is(err, fault.InvalidCursor) {
			t.Fatalf("got %v, want invalid_cursor", err)
		}
		cells, ok := decodeCells(plain)
		if !ok {
			return
		}
		again, ok := decodeCells(appendCells(nil, cells))
		if !ok || !slices.Equal(again, cells) {
			t.Fatalf("got %v, want %v", again, cells)
		}
	})
}
