package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// A backup is restored under a running server: its log ends earlier, and other
// events get the numbers of those that are gone. Open streams are told of the
// gap, once, and go on; so is one that resumes with a bookmark of the old log.
func TestALogThatWasReplacedIsTold(t *testing.T) {
	url := pgtest.Database(t)
	s := servertest.Start(t, servertest.Options{Schema: schema, Driver: "postgres", Database: url})
	ann := s.User("ann")
	stream := ann.Open("/subscribe/item?name=all&heartbeat=1s")
	for i := range 5 {
		ann.Post("/data/item", fmt.Sprintf(`{"id":"%d","n":0}`, i)).Is(201)
		stream.Frame()
	}
	bookmark := stream.Ping()
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	for _, sql := range []string{
		"BEGIN", `DELETE FROM t1._rowcast_log WHERE seq > 3`, `DELETE FROM t1.item WHERE id IN ('3', '4')`,
		`ALTER TABLE t1._rowcast_log ALTER COLUMN seq RESTART WITH 4`, "COMMIT",
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	ann.Post("/data/item", `{"id":"new","n":0}`).Is(201)
	gap := stream.Frame()
	if gap.Event != "stream.gap" || !strings.Contains(gap.Data, `"reason":"reset"`) {
		t.Fatalf("the open stream is told %s", gap.Raw)
	}
	ann.Post("/data/item", `{"id":"newer","n":0}`).Is(201)
	if f := stream.Frame(); f.Subject() != "newer" {
		t.Errorf("after the gap: %s", f.Raw)
	}
	resumed := ann.Resume("/subscribe/item?name=all", strings.TrimSpace(bookmark.ID))
	if f := resumed.Frame(); f.Event != "stream.gap" || !strings.Contains(f.Data, `"reason":"reset"`) {
		t.Errorf("a bookmark of the old log: %s", f.Raw)
	}
}
