package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// benchDir returns a folder of $ROWCAST_BENCH_DIR, so that a disk and a memory
// file system can be compared; without it, one of the test's own.
func benchDir(b *testing.B) string {
	root := os.Getenv("ROWCAST_BENCH_DIR")
	if root == "" {
		return b.TempDir()
	}
	dir, err := os.MkdirTemp(root, "bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

var benchEntity = newTestEntity("order", "orders",
	schema.Field{Name: "id", Type: value.ULID},
	schema.Field{Name: "title", Type: value.String},
	schema.Field{Name: "status", Type: value.Enum},
	schema.Field{Name: "owner_id", Type: value.String},
	schema.Field{Name: "total", Type: value.BigInt},
	schema.Field{Name: "createdon", Type: value.Timestamp},
	schema.Field{Name: "note", Type: value.String})

func newTestEntity(name, table string, fields ...schema.Field) *schema.Entity {
	e := &schema.Entity{Name: name, Table: table}
	for i := range fields {
		fields[i].Index = i
		e.Fields = append(e.Fields, &fields[i])
	}
	return e
}

func benchRow(n int64) (store.Row, *store.LogRow) {
	id := fmt.Sprintf("01M2P1R18V%016d", n)
	row := store.Row{
		value.OfText(id), value.OfText("a title of some length"), value.OfText("open"), value.OfText("user-4711"),
		value.OfInt(n), value.OfInt(1789245912000000), value.OfText("a note that is a little longer than the title was"),
	}
	guard := make(store.Row, len(row))
	for i := range guard {
		guard[i] = value.NotAtHand()
	}
	guard[3] = row[3]
	return row, &store.LogRow{
		EventID: "01M2P1R18W" + id[10:], Entity: "order", Operation: schema.Create, Fine: "created", Topic: "entity.order", Subject: id,
		Actor: "user-4711", Time: time.UnixMicro(1789245912000000), Sent: []string{"id", "title", "status", "owner_id", "total"},
		Origin: "01M2P1R18V26CMVBZ1DC0AS1Z1", Guard: store.Guard{After: guard}, Row: row,
	}
}

// BenchmarkWrite inserts a row and appends its event, by so many writers at once.
func BenchmarkWrite(b *testing.B) {
	for _, logged := range []bool{true, false} {
		for _, writers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("log=%v/writers=%d", logged, writers), func(b *testing.B) {
				benchWrite(b, writers, 64, logged)
			})
		}
	}
}

// BenchmarkWriteGroup shows what a group's size is worth to 64 writers.
func BenchmarkWriteGroup(b *testing.B) {
	for _, group := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("group=%d", group), func(b *testing.B) { benchWrite(b, 64, group, true) })
	}
}

func benchWrite(b *testing.B, writers, group int, logged bool) {
	s := open(b, Config{Path: filepath.Join(benchDir(b), "t.db"), MaxGroup: group})
	if _, err := s.Migrate(b.Context(), store.Plan{Entities: []*schema.Entity{benchEntity}}); err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range writers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				row, event := benchRow(n)
				err := s.Write(context.Background(), store.Work{Run: func(_ context.Context, tx store.Tx) error {
					if err := tx.Insert(benchEntity, row); err != nil || !logged {
						return err
					}
					return tx.Append(event)
				}})
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}

// BenchmarkRead reads rows by id and pages of the log.
func BenchmarkRead(b *testing.B) {
	const rows = 10000
	s := open(b, Config{Path: filepath.Join(benchDir(b), "t.db")})
	if _, err := s.Migrate(b.Context(), store.Plan{Entities: []*schema.Entity{benchEntity}}); err != nil {
		b.Fatal(err)
	}
	ids := make([]value.Value, rows)
	err := s.Write(b.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error {
		for n := range rows {
			row, event := benchRow(int64(n))
			ids[n] = row[0]
			if err := tx.Insert(benchEntity, row); err != nil {
				return err
			}
			if err := tx.Append(event); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	for name, read := range map[string]func(r store.Reader, n int) error{
		"get":         func(r store.Reader, n int) error { _, err := r.Get(benchEntity, ids[n%rows]); return err },
		"log of 1000": func(r store.Reader, n int) error { _, err := r.Log(int64(n%9000), 1000); return err },
		"page of 20": func(r store.Reader, n int) error {
			_, err := r.Select(benchEntity, store.Query{After: ids[n%9000 : n%9000+1], Limit: 20})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for n := range b.N {
				if err := s.View(b.Context(), func(r store.Reader) error { return read(r, n) }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
