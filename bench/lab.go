package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rowcast/rowcast/bench/drive"
)

// sizes are how much a figure loads, and for how long.
type sizes struct {
	streams     int // of most figures
	idle        int // of memory
	creates     []int
	rounds      int // floor and rowcast in turn, so often
	window      time.Duration
	settle      time.Duration // before memory is read
	drain       time.Duration // at most, for frames to come
	publishings int           // turns with and without events
	tailing     []int         // instances that only read; the first is none
	pairs       int           // turns of each
	backlog     int           // deliveries
	burst       int           // rows written at once
}

var (
	fullSizes = sizes{streams: 1000, idle: 5000, creates: []int{0, 100, 1000}, rounds: 2, window: 4 * time.Second,
		settle: 8 * time.Second, drain: 45 * time.Second, publishings: 4, tailing: []int{0, 1, 4}, pairs: 5, backlog: 50_000, burst: 1500}
	quickSizes = sizes{streams: 100, idle: 300, creates: []int{0, 20, 100}, rounds: 1, window: time.Second,
		settle: time.Second, drain: 20 * time.Second, publishings: 1, tailing: []int{0, 1, 4}, pairs: 1, backlog: 5000, burst: 100}
)

// lab is what every figure works with.
type lab struct {
	sizes
	out, rowcast, floor string // folder and binaries
	receive             string // binary of the receiver of deliveries
	frameBytes          int
	database            *database // for the figures that need it
	progress            io.Writer
}

func (l *lab) say(format string, args ...any) {
	_, _ = fmt.Fprintf(l.progress, format+"\n", args...)
}

// secret signs the tokens of a server that lives for seconds, on loopback.
const (
	secret = "bench-bench-bench-bench-bench-bench-bench" // #nosec G101 -- guards nothing
	tenant = "bench:test:main:t1"
)

const bootDocument = `listen: 127.0.0.1:0
log: {level: warn}
auth:
  jwt: [{alg: HS256, secret: "` + secret + `"}]
tenants:
  "` + tenant + `":
    schema: ./schema.yaml
    datastores:
      main: {driver: sqlite, path: ./bench.db}
limits: {streamsperprincipal: 20000, streams: 50000}
`

// schemaDocument has one entity a question: open to all, shown to its owner
// alone, and the same row published and not published.
const schemaDocument = `traits:
  - name: row
    fields:
      - {name: title, type: string, validations: [{type: required}, {type: maxlength, value: 80}]}
      - {name: status, type: string}
      - {name: owner_id, type: string}
      - {name: total, type: int}
entities:
  - name: open
    inherits: [row]
    fields: [{name: id, type: ulid}]
    events: [{name: changed, operations: [create, update, delete]}]
    subscriptions: [{name: all, rls: true, eventtypes: [create, update, delete]}]
  - name: owned
    inherits: [row]
    fields: [{name: id, type: ulid}]
    rowrules:
      - {name: own, actions: [read, update, delete], language: expr, expression: row.owner_id == user.id}
    events: [{name: changed, operations: [create, update, delete]}]
    subscriptions: [{name: mine, rls: true, eventtypes: [create, update, delete]}]
  - name: told
    inherits: [row]
    fields: [{name: id, type: ulid}]
    events: [{name: changed, operations: [create, update, delete]}]
  - name: plain
    inherits: [row]
    fields: [{name: id, type: ulid}]
`

// start starts a fresh rowcast with an empty database.
func (l *lab) start(ctx context.Context) (*server, error) { return l.startWith(ctx, bootDocument) }

// startWith starts a fresh rowcast with a boot document.
func (l *lab) startWith(ctx context.Context, document string) (*server, error) {
	dir, err := os.MkdirTemp(l.out, "run-")
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"rowcast.yaml": document, "schema.yaml": schemaDocument} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return launch(ctx, "rowcast", dir, l.rowcast, "serve", "--config", "rowcast.yaml")
}

// startFloor starts a fresh floor.
func (l *lab) startFloor(ctx context.Context) (*server, error) {
	dir, err := os.MkdirTemp(l.out, "run-")
	if err != nil {
		return nil, err
	}
	return launch(ctx, "floor", dir, l.floor, "--bytes", strconv.Itoa(l.frameBytes))
}

// on runs measure on a fresh server and stops it.
func on(ctx context.Context, start func(context.Context) (*server, error), measure func(*server) error) (err error) {
	s, err := start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return measure(s)
}

// both runs measure on the floor and on rowcast, in turn, for the rounds.
func (l *lab) both(ctx context.Context, measure func(*server) error) error {
	for range l.rounds {
		for _, start := range []func(context.Context) (*server, error){l.startFloor, l.start} {
			if err := on(ctx, start, measure); err != nil {
				return err
			}
		}
	}
	return nil
}

// token returns a token for user of the first tenant.
func token(user string) string { return tokenOf(user, tenant) }

func tokenOf(user, tenant string) string {
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": user, "tenant": tenant, "roles": []string{}, "exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString([]byte(secret))
	if err != nil {
		return "" // the server then says 401; HMAC over a constant key cannot fail
	}
	return signed
}

// body is a row of its caller.
const body = `{"title":"row %d","status":"open","owner_id":"%s","total":%d}`

// gather opens n streams of one user on the entity that is open to all.
func gather(ctx context.Context, s *server, n int, timed bool) (*drive.Swarm, error) {
	credential := token("reader")
	return drive.Open(ctx, drive.Gathering{N: n, Timed: timed, Opening: func(int) drive.Opening {
		return drive.Opening{Addr: s.addr, Path: "/subscribe/open", Token: credential}
	}})
}

// writing returns what writers that never pause post to an entity.
func writing(s *server, entity string, writers int, window time.Duration) drive.Writing {
	return drive.Writing{
		Addr: s.addr, Path: "/data/" + entity, Writers: writers, Duration: window,
		Body: body, Callers: []drive.Caller{{Name: "writer", Token: token("writer")}},
	}
}

// probe returns how many bytes a frame of the open stream has.
func (l *lab) probe(ctx context.Context) (size int, err error) {
	err = on(ctx, l.start, func(s *server) error {
		swarm, err := gather(ctx, s, 1, false)
		if err != nil {
			return err
		}
		defer swarm.Close()
		written, err := drive.WriteApart(ctx, writing(s, "open", 1, 200*time.Millisecond))
		if err != nil {
			return err
		}
		if len(written.IDs) == 0 || !swarm.Await(ctx, uint64(len(written.IDs)), 5*time.Second) {
			return fmt.Errorf("%d rows were written and %d frames came", len(written.IDs), swarm.Frames())
		}
		swarm.Close()
		size = swarm.Kept()[0].Bytes
		return nil
	})
	return size, err
}
