package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// openOrders opens a store with one entity.
func openOrders(t *testing.T, config Config) *Store {
	t.Helper()
	config.Path = filepath.Join(t.TempDir(), "t.db")
	s := open(t, config)
	if _, err := s.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{benchEntity}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// work is one request of a group: what it does after adding its row, and how
// often it ran.
type work struct {
	id   string
	then func(t *tx) error
	ctx  context.Context //nolint:containedctx // that of the one call it stands for
	// leave ends ctx once the request waits.
	leave context.CancelFunc
	runs  int
}

// runGroup makes one group of the works, by queueing them while the writer is
// busy, and returns their outcomes.
func runGroup(t *testing.T, s *Store, works ...*work) []error {
	t.Helper()
	busy, release := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- s.Write(context.Background(), store.Work{Run: func(context.Context, store.Tx) error {
			close(busy)
			<-release
			return nil
		}})
	}()
	<-busy
	requests := make([]*request, len(works))
	for i, w := range works {
		ctx := w.ctx
		if ctx == nil {
			ctx = context.Background()
		}
		requests[i] = &request{ctx: ctx, done: make(chan error, 1), work: store.Work{Run: w.run}}
		if err := s.writer.put(requests[i]); err != nil {
			requests[i].done <- err
		}
		if w.leave != nil {
			w.leave()
		}
	}
	close(release)
	errs := make([]error, len(works))
	for i, r := range requests {
		errs[i] = <-r.done
	}
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	return errs
}

func (w *work) run(_ context.Context, t store.Tx) error {
	w.runs++
	row, event := benchRow(0)
	row[0], event.Subject, event.EventID = value.OfText(w.id), w.id, "E"+w.id
	if err := t.Insert(benchEntity, row); err != nil {
		return err
	}
	if err := t.Append(event); err != nil {
		return err
	}
	if w.then == nil {
		return nil
	}
	return w.then(t.(*tx))
}

// wantRows checks that rows and log hold these ids and no other.
func wantRows(t *testing.T, s *Store, want ...string) {
	t.Helper()
	err := s.View(t.Context(), func(r store.Reader) error {
		rows, err := r.Select(benchEntity, store.Query{})
		var got, logged []string
		for _, row := range rows {
			got = append(got, row[0].Text())
		}
		log, err2 := r.Log(0, 1000)
		for _, row := range log {
			logged = append(logged, row.Subject)
		}
		slices.Sort(logged)
		if !slices.Equal(got, want) || !slices.Equal(logged, want) {
			t.Errorf("rows %v and events of %v, want %v", got, logged, want)
		}
		return errors.Join(err, err2)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestOneBadRequestOfAGroupHarmsNoOther(t *testing.T) {
	refused := errors.New("refused")
	gone, leave := context.WithCancel(context.Background())
	for name, bad := range map[string]struct {
		work work
		want func(error) bool
	}{
		"an error":      {work{then: func(*tx) error { return refused }}, func(err error) bool { return errors.Is(err, refused) }},
		"a panic":       {work{then: func(*tx) error { panic("broke") }}, func(err error) bool { return err != nil && strings.Contains(err.Error(), "broke") }},
		"a conflict":    {work{id: "a"}, func(err error) bool { var c *store.ConflictError; return errors.As(err, &c) }},
		"a caller gone": {work{ctx: gone, leave: leave}, func(err error) bool { return errors.Is(err, context.Canceled) }},
		"a panic in a row": {work{then: func(t *tx) error {
			st, err := t.conn.stmtOf(logSelect)
			if err == nil && bindInts(st, 0, 9) == nil && st.Step() {
				panic("half read")
			}
			return err
		}}, func(err error) bool { return err != nil && strings.Contains(err.Error(), "half read") }},
	} {
		t.Run(name, func(t *testing.T) {
			var handed []string
			s := openOrders(t, Config{Committed: func(rows []*store.LogRow) {
				for _, row := range rows {
					handed = append(handed, row.Subject)
				}
			}})
			first, last := &work{id: "a"}, &work{id: "c"}
			middle := bad.work
			if middle.id == "" {
				middle.id = "b"
			}
			errs := runGroup(t, s, first, &middle, last)
			if errs[0] != nil || errs[2] != nil {
				t.Errorf("the others failed: %v, %v", errs[0], errs[2])
			}
			if !bad.want(errs[1]) {
				t.Errorf("its own error is %v", errs[1])
			}
			if first.runs != 1 || last.runs != 1 {
				t.Errorf("the others ran %d and %d times, want once", first.runs, last.runs)
			}
			wantRows(t, s, "a", "c")
			if want := []string{"a", "c"}; !slices.Equal(handed, want) {
				t.Errorf("handed on %v, want %v", handed, want)
			}
		})
	}
}

// forever is a statement that writes and never ends.
const forever = `INSERT INTO _rowcast_secrets (name, secret)
	WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT n, x'00' FROM c WHERE n < 0`

func TestLostTransactionRunsEachRequestAgainAlone(t *testing.T) {
	fill := func(t *tx) error { // more than the file may hold: SQLite rolls the transaction back
		return t.run(`INSERT INTO _rowcast_secrets VALUES ('big', zeroblob(?))`, int64(4<<20))
	}
	ignoring := func(t *tx) error { _ = fill(t); return t.Append(&store.LogRow{EventID: "stray", Entity: "order"}) }
	for name, c := range map[string]struct {
		then func(*tx) error
		want error
	}{
		"a statement past its time": {func(t *tx) error { return t.run(forever) }, store.ErrTimeout},
		"a full disk":               {fill, store.ErrUnavailable},
		"an error that is ignored":  {ignoring, store.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := openOrders(t, Config{budget: 300 * time.Millisecond})
			capFile(t, s, 100)
			first, bad, last := &work{id: "a"}, &work{id: "b", then: c.then}, &work{id: "c"}
			errs := runGroup(t, s, first, bad, last)
			if errs[0] != nil || errs[2] != nil {
				t.Errorf("the others failed: %v, %v", errs[0], errs[2])
			}
			if !errors.Is(errs[1], c.want) {
				t.Errorf("error = %v, want %v", errs[1], c.want)
			}
			if first.runs != 2 || bad.runs != 2 || last.runs != 1 {
				t.Errorf("ran %d, %d and %d times, want 2, 2 and 1", first.runs, bad.runs, last.runs)
			}
			wantRows(t, s, "a", "c")
		})
	}
}

// capFile lets the file grow by so many pages and no further.
func capFile(t *testing.T, s *Store, pages int) {
	t.Helper()
	err := s.administer(t.Context(), func(c *conn) error {
		text, err := c.queryText(`PRAGMA page_count`)
		if err != nil {
			return err
		}
		var have int
		if _, err := fmt.Sscan(text, &have); err != nil {
			return err
		}
		return c.db.Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, have+pages))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFullDiskAtCommitAcknowledgesNobody(t *testing.T) {
	fault := newFaultVFS(t)
	s := openOrders(t, Config{vfs: fault.name})
	fault.full.Store(true)
	for i, err := range runGroup(t, s, &work{id: "a"}, &work{id: "b"}) {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("write %d: error = %v, want ErrUnavailable", i, err)
		}
	}
	wantRows(t, s)
	fault.full.Store(false)
	if errs := runGroup(t, s, &work{id: "a"}); errs[0] != nil {
		t.Errorf("with room again: %v", errs[0])
	}
	wantRows(t, s, "a")
}

func TestViewIsBoundInTime(t *testing.T) {
	s := openOrders(t, Config{QueryTimeout: 50 * time.Millisecond, Readers: 1})
	err := s.View(t.Context(), func(r store.Reader) error {
		return r.(*reader).conn.each(nil, `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT n FROM c WHERE n < 0`)
	})
	if !errors.Is(err, store.ErrTimeout) {
		t.Errorf("a query without end: %v, want ErrTimeout", err)
	}
	err = s.View(t.Context(), func(store.Reader) error {
		return s.View(t.Context(), func(store.Reader) error { return nil }) // the only reader is taken
	})
	if !errors.Is(err, store.ErrTimeout) {
		t.Errorf("no reader free: %v, want ErrTimeout", err)
	}
	wantRows(t, s)
}

func TestViewReturnsItsReaderAfterAPanic(t *testing.T) {
	s := openOrders(t, Config{Readers: 1})
	func() {
		defer func() { _ = recover() }()
		_ = s.View(t.Context(), func(store.Reader) error { panic("broke") })
		t.Error("the panic was swallowed")
	}()
	wantRows(t, s)
}

func TestWriteAheadLogIsTruncated(t *testing.T) {
	const limit = 1 << 20
	s := openOrders(t, Config{WALLimit: limit})
	size := func() int64 {
		info, err := os.Stat(s.path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	write := func(id string) {
		errs := runGroup(t, s, &work{id: id, then: func(t *tx) error {
			return t.run(`INSERT OR REPLACE INTO _rowcast_secrets VALUES ('big', zeroblob(?))`, int64(100<<10))
		}})
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
	}
	hold, held := make(chan struct{}), make(chan error)
	reading := make(chan struct{})
	go func() { // a reader in the way delays it and loses nothing
		held <- s.View(context.Background(), func(r store.Reader) error {
			close(reading)
			<-hold
			n, err := r.Count(benchEntity, store.Query{})
			if n != 0 {
				t.Errorf("the snapshot shows %d rows", n)
			}
			return err
		})
	}()
	<-reading
	for i := range 12 {
		write(fmt.Sprintf("held-%02d", i))
	}
	if got := size(); got < limit {
		t.Fatalf("log of %d bytes, want it past the limit for the test to mean anything", got)
	}
	close(hold)
	if err := <-held; err != nil {
		t.Error(err)
	}
	write("free")
	if err := s.administer(t.Context(), func(*conn) error { return nil }); err != nil { // behind the checkpoint
		t.Fatal(err)
	}
	if got := size(); got >= limit {
		t.Errorf("log of %d bytes once nobody reads, want it emptied", got)
	}
}
