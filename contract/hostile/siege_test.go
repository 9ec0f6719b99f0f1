package hostile

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/servertest"
)

const schema = `
enums:
  - name: kind
    values: [{value: small}, {value: large}]
entities:
  - name: thing
    inherits: [softdelete]
    fields:
      - {name: id, type: string}
      - {name: text, type: string}
      - {name: n, type: int}
      - {name: big, type: bigint}
      - {name: d, type: double}
      - {name: ok, type: boolean}
      - {name: at, type: timestamp}
      - {name: day, type: date}
      - {name: u, type: uuid}
      - {name: o, type: object}
      - {name: a, type: array}
      - {name: b, type: bytes}
      - {name: kind, type: kind}
    access:
      actions: {language: expr, expression: '["create","read","update","delete","restore","purge"]'}
    events:
      - {name: changed}
    subscriptions:
      - {name: all}
      - {name: rows, rls: true}
      - {name: births, eventtypes: [create]}
  - name: note
    fields:
      - {name: id, type: ulid}
      - {name: owner_id, type: string, defaultvalue: user.id}
      - {name: secret, type: string, mask: {keeplast: 0}}
      - {name: text, type: string}
    rowrules:
      - {name: own, actions: [read, update, delete], language: expr, expression: row.owner_id == user.id}
    events:
      - {name: changed}
    subscriptions:
      - {name: mine, rls: true}
  - name: count
    fields:
      - {name: id, type: bigint}
    events:
      - {name: changed}
    subscriptions:
      - {name: all}
  - name: quiet
    fields:
      - {name: id, type: string}
`

// soon is what "at once" means on a busy machine.
const soon = 15 * time.Second

// siege is a server under attack, and who watches that nothing comes of it.
type siege struct {
	*servertest.Server
	t       *testing.T
	ann     *servertest.Caller
	watch   *servertest.Stream
	markers int
	rows    map[string]string
	before  goleak.Option
}

// besiege starts a server and notes what is there. The test ends by proving
// that nothing but what lift allows has been added to it.
func besiege(t *testing.T, o servertest.Options) *siege {
	t.Helper()
	there := goleak.IgnoreCurrent() // the database's, where it is one
	t.Cleanup(func() { goleak.VerifyNone(t, there) })
	o.Schema = schema
	s := &siege{Server: servertest.Start(t, o), t: t, rows: map[string]string{}}
	s.ann = s.User("ann")
	s.watch = s.User("watch").Open("/subscribe/thing?name=all")
	s.User("ann").Post("/data/thing", `{"id":"seed","text":"seed","n":1}`).Is(201)
	s.watch.Frame()
	s.note()
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return s
}

// note takes what is there now as what must be there in the end.
func (s *siege) note() {
	s.t.Helper()
	for _, entity := range []string{"thing", "note", "count", "quiet"} {
		s.rows[entity] = s.content(entity)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	s.before = goleak.IgnoreCurrent()
}

func (s *siege) content(entity string) string {
	s.t.Helper()
	return s.ann.Get("/data/" + entity + "?limit=100&count=true").Is(200).Body
}

// unharmed proves that nothing was written or told since note, that nothing of
// the attack is left, and that the server answers at once.
func (s *siege) unharmed() {
	t := s.t
	t.Helper()
	began := time.Now()
	s.ann.Get("/healthz").Is(200)
	for entity, want := range s.rows {
		if got := s.content(entity); got != want {
			t.Fatalf("the rows of %s were %.500s\nand are %.500s", entity, want, got)
		}
	}
	s.markers++
	marker := "marker " + strconv.Itoa(s.markers)
	s.ann.Post("/data/thing", `{"id":"`+marker+`"}`).Is(201)
	if f := s.watch.Frame(); f.Subject() != marker {
		t.Fatalf("an event came of it: %s", f.Data)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("after it, four answers and a frame took %s", took)
	}
	s.ann.Delete("/data/thing/" + strings.ReplaceAll(marker, " ", "%20") + "/purge").Is(204)
	s.watch.Frame()
	s.gone(soon)
}

// pooled is the reader that pgx leaves with a connection of its pool when a write
// to it was slow: it belongs to the server, and to no attack.
var pooled = goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgconn/internal/bgreader.(*BGReader).bgRead")

// gone waits until no goroutine, and so no connection, of the attack is left,
// and looks at the counters.
func (s *siege) gone(patience time.Duration) {
	t := s.t
	t.Helper()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	deadline := time.Now().Add(patience)
	for {
		err := goleak.Find(s.before, pooled) // it looks again for a while itself
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("something of it is left: %v", err)
		}
	}
	if subs := s.Subscribers(); len(subs) != 1 || subs[0].Principal != "watch" {
		t.Fatalf("subscribers are left: %+v", subs)
	}
	if c := s.Counters()[0]; c.Subscribers != 1 || c.Topics != 1 {
		t.Fatalf("the counters have what is gone: %+v", c)
	}
}

// answer is what came over a bare socket.
type answer struct {
	Status int // 0: hung up on without an answer
	Header http.Header
	Body   string
	Code   string // of a problem
	Closed bool   // the server said that the connection ends here
}

// dial opens a bare connection that ends with the test.
func (s *siege) dial() *net.TCPConn {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	return conn.(*net.TCPConn)
}

// send writes text as it stands to a connection of its own and reads one answer.
func (s *siege) send(text string) answer {
	s.t.Helper()
	conn := s.dial()
	defer func() { _ = conn.Close() }()
	began := time.Now()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(conn, text)
	}()
	a := s.read(bufio.NewReader(conn), strings.HasPrefix(text, "HEAD "))
	if took := time.Since(began); took > soon {
		s.t.Errorf("the answer took %s to %.80q", took, text)
	}
	_ = conn.Close()
	<-written
	return a
}

func (s *siege) read(r *bufio.Reader, head bool) answer {
	s.t.Helper()
	method := "GET"
	if head {
		method = "HEAD"
	}
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		return answer{}
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		s.t.Errorf("the answer breaks off: %v after %.200q", err, body)
	}
	a := answer{Status: resp.StatusCode, Header: resp.Header, Body: string(body), Closed: resp.Close}
	var problem struct{ Code string }
	if resp.Header.Get("Content-Type") == "application/problem+json" && json.Unmarshal(body, &problem) == nil {
		a.Code = problem.Code
	}
	return a
}

// request builds a request with ann's token, a body and its length.
func (s *siege) request(line, headers, body string) string {
	text := line + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + s.Token("ann") + "\r\n" + headers
	if body != "" {
		text += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return text + "\r\n" + body
}

// refused checks one answer against the documented code.
func (a answer) refused(t *testing.T, name string, status int, code string) {
	t.Helper()
	if a.Status != status || a.Code != code {
		t.Errorf("%s: got %d %s, want %d %s: %.300s", name, a.Status, a.Code, status, code, a.Body)
	}
	if len(a.Body) > 256<<10 {
		t.Errorf("%s: the refusal has %d bytes", name, len(a.Body))
	}
}

// readFrom reads one answer off a connection and closes it.
func (s *siege) readFrom(conn io.ReadCloser) answer {
	s.t.Helper()
	defer func() { _ = conn.Close() }()
	return s.read(bufio.NewReader(conn), false)
}
