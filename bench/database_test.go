package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/bench/drive"
)

// runDatabase starts a database that ends with the test.
func runDatabase(ctx context.Context, t *testing.T) *database {
	t.Helper()
	d, err := startDatabase(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.stop(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestTheDatabaseIsMeasuredAndEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d := runDatabase(ctx, t)
	name, url, err := d.create(ctx)
	if err != nil {
		t.Fatal(err)
	}
	before, err := d.cpu()
	if err != nil {
		t.Fatal(err)
	}
	for i, last := range []string{"SELECT count(*) FROM generate_series(1, 1000000)", "LISTEN changes"} {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		if _, err := conn.Exec(ctx, last); err != nil {
			t.Fatal(err)
		}
		if all, listening, err := d.connections(ctx, name); err != nil || all != i+1 || listening != i {
			t.Errorf("%d connections, %d of them listening, %v, want %d and %d", all, listening, err, i+1, i)
		}
	}
	if after, err := d.cpu(); err != nil || after-before < 2*tick {
		t.Errorf("%v of CPU, %v, for counting to a million", after-before, err)
	}
	var synced string
	if err := d.conn.QueryRow(ctx, "SELECT current_setting('fsync') || current_setting('synchronous_commit')").Scan(&synced); err != nil || synced != "onon" {
		t.Errorf("commits are synced: %q, %v", synced, err)
	}
}

func TestTenantsOfOneDatabaseHaveANamespaceEach(t *testing.T) {
	document := sharedDocument("postgres:///bench?host=/run", 3)
	for _, want := range []string{`"bench:test:main:t1":`, `"bench:test:main:t3":`, "namespace: t3", "auth:"} {
		if strings.Count(document, want) != 1 {
			t.Errorf("%q does not stand once in\n%s", want, document)
		}
	}
	if tenantName(0) != tenant {
		t.Errorf("the first tenant is %s, and tokens are for %s", tenantName(0), tenant)
	}
}

// The limit judges each turn beside that of its own round: here the machine
// became slower from round to round, and one tailing instance always cost four in
// a hundred, four of them six. Without a pause they cost more, which no limit judges.
func TestATurnIsJudgedBesideThatOfItsRound(t *testing.T) {
	turns := map[int][]turn{}
	for round := range 5 {
		alone := time.Duration(round+1) * 100 * time.Microsecond
		of := func(rate float64, writer, tailing time.Duration) turn {
			return turn{
				paced: phase{rate: 630, cpu: usage{instance: alone * writer / 100, tailing: alone * tailing / 100}},
				free:  phase{rate: rate, cpu: usage{instance: alone * writer / 100, tailing: 2 * alone * tailing / 100}},
				whole: true,
			}
		}
		turns[0] = append(turns[0], of(1000, 100, 0))
		turns[1] = append(turns[1], of(900, 100, 4))
		four := of(800, 102, 4)
		four.losses = drive.Losses{Missing: 1}
		turns[4] = append(turns[4], four)
	}
	rows := tailingRows([]int{0, 1, 4}, turns)
	var judged []string
	for _, row := range rows {
		switch {
		case row.Met == nil:
			judged = append(judged, "-")
		case *row.Met:
			judged = append(judged, "met")
		default:
			judged = append(judged, "missed")
		}
	}
	if got, want := strings.Join(judged, " "), "- - - - met missed - - - - - - - - missed"; got != want {
		t.Errorf("got %s, want %s: %+v", got, want, rows)
	}
	if row := rows[2]; row.Rowcast != 800 || row.Floor != 1000 {
		t.Errorf("got %v beside %v writes a second, want 800 beside 1000", row.Rowcast, row.Floor)
	}
	for i, want := range map[int]float64{5: 318, 9: 12, 10: 306, 12: 324, 13: 330} {
		if got := rows[i].Rowcast; got != want {
			t.Errorf("%s: got %v µs, want %v", rows[i].Figure, got, want)
		}
	}
}

// Two turns of a round count as one: what they cost on average, and all they lost.
func TestTheTurnsOfARoundAreTakenTogether(t *testing.T) {
	one := turn{paced: phase{rate: 600, cpu: usage{1000, 10, 4, 2}}, free: phase{rate: 1000}, losses: drive.Losses{Missing: 1}, whole: true}
	other := turn{paced: phase{rate: 620, cpu: usage{2000, 20, 8, 4}}, free: phase{rate: 2000}, losses: drive.Losses{Doubled: 2}}
	want := turn{paced: phase{rate: 610, cpu: usage{1500, 15, 6, 3}}, free: phase{rate: 1500}, losses: drive.Losses{Missing: 1, Doubled: 2}}
	if got := one.with(other); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestFiguresWithoutPostgreSQLCanBeChosen(t *testing.T) {
	for _, f := range chosen(withoutPostgres()) {
		if f.postgres {
			t.Errorf("%s needs PostgreSQL", f.name)
		}
	}
	if all := chosen(nil); len(all) != len(figures) || len(withoutPostgres()) != len(figures)-7 {
		t.Errorf("%d of %d figures, %d without PostgreSQL", len(all), len(figures), len(withoutPostgres()))
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		of   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(test.of); got != test.want {
			t.Errorf("%v: got %v, want %v", test.of, got, test.want)
		}
	}
}
