package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/pgtest"
)

// database is a PostgreSQL of the bench's own, as it is installed: every commit
// is synced. It belongs to one goroutine.
type database struct {
	server *pgtest.Server
	conn   *pgx.Conn // to count connections and find the server's process
	pid    int       // of the server's first process, the parent of all others
	made   int
}

// startDatabase starts it in a folder of the system's temporary one.
func startDatabase(ctx context.Context) (*database, error) {
	server, err := pgtest.Start()
	if err != nil {
		return nil, err
	}
	d := &database{server: server}
	if err := d.meet(ctx); err != nil {
		return nil, errors.Join(err, d.stop())
	}
	return d, nil
}

// meet connects and finds the parent of the process that answers.
func (d *database) meet(ctx context.Context) (err error) {
	if d.conn, err = pgx.Connect(ctx, d.server.URL("postgres")); err != nil {
		return err
	}
	backend, err := readProcess(int(d.conn.PgConn().PID()))
	d.pid = backend.parent
	return err
}

func (d *database) stop() error {
	var closed error
	if d.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		closed = d.conn.Close(ctx)
	}
	return errors.Join(closed, d.server.Stop())
}

// create makes an empty database and returns its name and URL.
func (d *database) create(ctx context.Context) (name, url string, err error) {
	d.made++
	name = "bench" + strconv.Itoa(d.made)
	_, err = d.conn.Exec(ctx, "CREATE DATABASE "+name)
	return name, d.server.URL(name), err
}

// cpu returns the processor time of all processes of the server, ended ones included.
func (d *database) cpu() (time.Duration, error) { return familyCPU(d.pid) }

// backend is a process of the server that serves one connection.
type backend struct {
	of   string // the application_name it was opened with
	used time.Duration
}

// backends returns who is connected now and the processor time each has used,
// by process id.
func (d *database) backends(ctx context.Context) (map[int]backend, error) {
	rows, err := d.conn.Query(ctx, "SELECT pid, application_name FROM pg_stat_activity WHERE backend_type = 'client backend'")
	if err != nil {
		return nil, err
	}
	found := map[int]backend{}
	var pid int
	var of string
	_, err = pgx.ForEachRow(rows, []any{&pid, &of}, func() error {
		if p, err := single(pid); err == nil { // else it has just ended
			found[pid] = backend{of: of, used: p.used}
		}
		return nil
	})
	return found, err
}

// tidy has a database do now what it would do by itself some time.
func tidy(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE)")
	return errors.Join(err, conn.Close(ctx))
}

// named returns a database's URL whose connections bear a name there.
func named(url, application string) string { return url + "&application_name=" + application }

// connections counts who is connected to a database, and who of them listens.
func (d *database) connections(ctx context.Context, name string) (all, listening int, err error) {
	err = d.conn.QueryRow(ctx, "SELECT count(*), count(*) FILTER (WHERE query ILIKE 'LISTEN%') FROM pg_stat_activity WHERE datname = $1", name).
		Scan(&all, &listening)
	return all, listening, err
}

// poolSize is what an instance may open beside the connection that listens.
const poolSize = 10

// tenantName is the i-th tenant; the first is the one of all other figures.
func tenantName(i int) string { return fmt.Sprintf("bench:test:main:t%d", i+1) }

// sharedDocument is the boot document of an instance whose tenants share a database.
func sharedDocument(url string, tenants int) string {
	head, _, _ := strings.Cut(bootDocument, "tenants:\n")
	var b strings.Builder
	b.WriteString(head + "limits: {streamsperprincipal: 20000, streams: 50000}\ntenants:\n")
	for i := range tenants {
		fmt.Fprintf(&b, "  %q:\n    schema: ./schema.yaml\n    datastores:\n      main: {driver: postgres, url: %q, namespace: t%d, maxconns: %d}\n",
			tenantName(i), url, i+1, poolSize)
	}
	return b.String()
}

// startOn starts an instance of rowcast on a database.
func (l *lab) startOn(ctx context.Context, url string, tenants int) (*server, error) {
	return l.startWith(ctx, sharedDocument(url, tenants))
}
