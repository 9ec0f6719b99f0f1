package main

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Whose the time is, is told by the connection; what belongs to no instance, such
// as the writer of the log and backends that have ended, is the rest.
func TestTheTimeOfTheDatabaseIsSplitByWhomItWasUsedFor(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	before := used{instance: ms(10), database: ms(1000), backends: map[int]backend{
		1: {writingName, ms(100)}, 2: {tailingName, ms(200)}, 3: {"psql", ms(300)}, 4: {tailingName, ms(50)}, // 4 ends
	}}
	after := used{instance: ms(40), database: ms(1200), backends: map[int]backend{
		1: {writingName, ms(190)}, 2: {tailingName, ms(230)}, 3: {"psql", ms(310)}, 5: {tailingName, ms(10)}, // 5 is new
	}}
	got := after.since(before)
	want := usage{instance: ms(30), writing: ms(90), tailing: ms(40), rest: ms(70)}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got.all() != ms(230) || got.over(10).writer() != ms(12) {
		t.Errorf("all %v and the writer's tenth %v, want 230ms and 12ms", got.all(), got.over(10).writer())
	}
}

func TestBackendsAreKnownByTheNameOfTheirURL(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d := runDatabase(ctx, t)
	_, url, err := d.create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, named(url, tailingName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "SELECT count(*) FROM generate_series(1, 1000000)"); err != nil {
		t.Fatal(err)
	}
	found, err := d.backends(ctx)
	got := found[int(conn.PgConn().PID())]
	if err != nil || got.of != tailingName || got.used < 2*tick {
		t.Errorf("got %+v, %v, want that of %s, which has counted to a million", got, err, tailingName)
	}
}
