package servertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowcast/rowcast/client"
)

// Writer creates rows and changes each a few times, whatever befalls the
// servers, and keeps what it was answered. Its entities have the text id and
// the number n, which is 0 and then raised by one with each change.
type Writer struct {
	User     string
	Name     string    // begins the ids of its rows
	Servers  []*Server // each write goes to the next
	Entities []string  // each row is of the next
	Pad      string    // the field pad of each row; none where it is empty
	// Pause is between two writes. Defaults to none; with several servers it
	// should be milliseconds, so that the ids of a row's events ascend.
	Pause time.Duration

	t       testing.TB
	clients []*client.Client
	turn    int
	rows    []*written
	known   atomic.Int64 // writes with a certain answer: done
	refused int          // writes with a certain answer: not done
	unsure  int          // writes without a certain answer
	longest time.Duration
}

// written is a row as its writer knows it. A row whose last write was not
// acknowledged is left alone.
type written struct {
	entity, id string
	told       int // the highest n that was acknowledged; -1 before any
	may        int // the highest n that may be there
}

// Run writes until ctx is done, and finishes what it has begun.
func (w *Writer) Run(ctx context.Context, t testing.TB) {
	w.t = t
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for _, s := range w.Servers {
		c, err := client.New(client.Config{
			URL: s.URL, Token: s.Token(w.User), HTTPClient: &http.Client{Transport: transport, Timeout: 6 * patience},
		})
		if err != nil {
			t.Error(err)
			return
		}
		w.clients = append(w.clients, c)
	}
	for i := 0; ctx.Err() == nil; i++ {
		row := &written{entity: w.Entities[i%len(w.Entities)], id: fmt.Sprintf("%s-%d", w.Name, i), told: -1, may: -1}
		w.rows = append(w.rows, row)
		for n := range 1 + i%3 {
			if !w.write(ctx, row, n) {
				Pass(ctx, 10*time.Millisecond) // the server is away
				break
			}
		}
		if i%10 == 0 && row.told >= 0 {
			w.again(ctx, row)
		}
	}
}

// write brings a row to n and reports whether that was acknowledged.
func (w *Writer) write(ctx context.Context, row *written, n int) bool {
	Pass(ctx, w.Pause)
	doc := map[string]any{"n": n}
	c, done := w.next(), context.WithoutCancel(ctx)
	began := time.Now()
	var err error
	if n == 0 {
		doc["id"] = row.id
		if w.Pad != "" {
			doc["pad"] = w.Pad
		}
		_, err = c.Create(done, row.entity, doc)
	} else {
		_, err = c.Patch(done, row.entity, row.id, doc)
	}
	w.longest = max(w.longest, time.Since(began))
	switch {
	case err == nil:
		row.told, row.may = n, n
		w.known.Add(1)
	case refused(err):
		w.refused++
	default:
		row.may = n
		w.unsure++
	}
	return err == nil
}

// again creates a row that is there, which must change nothing.
func (w *Writer) again(ctx context.Context, row *written) {
	_, err := w.next().Create(context.WithoutCancel(ctx), row.entity, map[string]any{"id": row.id, "n": 99})
	if err == nil {
		w.t.Errorf("row %s was created twice", row.id)
	}
	w.refused++
}

func (w *Writer) next() *client.Client {
	w.turn++
	return w.clients[w.turn%len(w.clients)]
}

// refused reports an answer that says that the write was not done: any problem
// but the one that says that nobody knows.
func refused(err error) bool {
	var p *client.Problem
	return errors.As(err, &p) && !strings.Contains(p.Detail, "may stand")
}

// Acknowledged returns how many writes of these writers were done for certain.
// They may be running.
func Acknowledged(writers []*Writer) (n int) {
	for _, w := range writers {
		n += int(w.known.Load())
	}
	return n
}

// More lets the writers run until so many more writes were acknowledged.
func More(t testing.TB, writers []*Writer, n int) {
	t.Helper()
	before, deadline := Acknowledged(writers), time.Now().Add(6*patience)
	for Acknowledged(writers) < before+n {
		if time.Now().After(deadline) {
			t.Fatalf("%d writes were acknowledged, and no %d more in %s", before, n, 6*patience)
		}
		Pass(t.Context(), 10*time.Millisecond)
	}
}

// String says how its writes ended.
func (w *Writer) String() string {
	return fmt.Sprintf("%s: %d writes done, %d refused, %d of which nobody knows, the longest took %s",
		w.Name, w.known.Load(), w.refused, w.unsure, w.longest.Round(time.Millisecond))
}

// Judge reads all rows at a server, holds them against what was acknowledged and
// what was refused, and calls each with how often a row was changed.
func (w *Writer) Judge(at *Server, each func(entity, id string, changes int)) {
	w.t.Helper()
	stored := map[string]map[string]int{}
	for _, entity := range w.Entities {
		stored[entity] = numbers(w.t, at, w.User, entity)
	}
	for _, row := range w.rows {
		n, there := stored[row.entity][row.id]
		if !there {
			n = -1
		}
		if n < row.told {
			w.t.Errorf("%s %s: acknowledged up to n=%d, there: %v, n=%d", row.entity, row.id, row.told, there, n)
		}
		if n > row.may {
			w.t.Errorf("%s %s: n=%d is there, and all above %d was refused or never sent", row.entity, row.id, n, row.may)
		}
		each(row.entity, row.id, n+1)
	}
}

// numbers returns n of each row that a user may read.
func numbers(t testing.TB, at *Server, user, entity string) map[string]int {
	t.Helper()
	c, err := client.New(client.Config{URL: at.URL, Token: at.Token(user)})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for query := (url.Values{"limit": {"100"}, "fields": {"id,n"}}); ; {
		page, err := c.List(t.Context(), entity, query)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			var row struct {
				ID string
				N  int
			}
			if err := json.Unmarshal(item, &row); err != nil {
				t.Fatal(err)
			}
			found[row.ID] = row.N
		}
		if page.Next == "" {
			return found
		}
		query.Set("cursor", page.Next)
	}
}

// Pass lets time pass in which others work; less where ctx ends first.
func Pass(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
