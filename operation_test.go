package rowcast_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast"
	"github.com/rowcast/rowcast/fault"
)

const shopSchema = `
entities:
  - name: order
    fields:
      - {name: id, type: string}
      - {name: title, type: string, validations: [{type: required}, {type: maxlength, value: 20}]}
      - {name: total, type: int}
      - {name: note, type: string}
    access:
      read: {language: expr, expression: '["id", "title", "total"]'}
    events: [{name: changed}]
    realtime: {}
    operations:
      - {name: markPaid, kind: write, cardinality: one, realtimeevent: updated, set: {note: paid}}
      - {name: declared, kind: read, cardinality: one}
  - name: line
    fields: [{name: id, type: ulid}, {name: order_id, type: string}, {name: price, type: int}]
`

// live runs a site until the test ends, proves that nothing of it is left, and
// returns its server and where it answers.
func live(t *testing.T, c rowcast.Config) (*rowcast.Server, string) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	s := opened(t, c)
	stop, done := background(t, s.Run)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		web.Close()
		goleak.VerifyNone(t, before)
	})
	<-s.Ready()
	return s, web.URL
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	return send(t, request(t, http.MethodPost, url, strings.NewReader(body)))
}

// shop serves orders with the operations.
func shop(t *testing.T, operations ...rowcast.Operation) string {
	t.Helper()
	c := site(t, bellBoot, shopSchema)
	c.Operations = append(c.Operations, operations...)
	c.Operations = append(c.Operations, rowcast.Operation{Entity: "order", Name: "declared", Handler: func(_ context.Context, c *rowcast.Call) error { return c.Reply(c.Row()) }})
	_, url := live(t, c)
	return url
}

// An operation in Go has the row by its fields' names, its input, its caller, and
// a transaction over the rows beside it.
func TestAnOperationInGo(t *testing.T) {
	url := shop(t, rowcast.Operation{Entity: "order", Name: "bill", RealtimeEvent: "updated", Handler: func(_ context.Context, c *rowcast.Call) error {
		in := struct {
			Price int `json:"price"`
		}{Price: 1}
		if err := c.Input(&in); err != nil {
			return err
		}
		var total *int
		row := c.Row()
		if err := row.Get("total", &total); err != nil || total != nil {
			return errors.Join(err, errors.New("there is a total"))
		}
		line, err := c.Create("line", map[string]any{"order_id": row.ID(), "price": in.Price})
		if err != nil {
			return err
		}
		if _, err := c.Update("line", line.ID(), map[string]any{"price": in.Price + 1}); err != nil {
			return err
		}
		lines, err := c.Find("line", "filter[order_id][eq]="+row.ID())
		if err != nil || len(lines) != 1 {
			return errors.Join(err, errors.New("the line is not found"))
		}
		var l struct{ Price int }
		if err := lines[0].Decode(&l); err != nil {
			return err
		}
		return errors.Join(c.Set("total", l.Price), c.Patch(map[string]any{"note": "billed to " + c.Caller().ID}))
	}})
	post(t, url+"/data/order", `{"id":"o1","title":"lamp"}`)
	status, got := post(t, url+"/data/order/o1/bill", `{"price":4}`)
	if want := `{"id":"o1","title":"lamp","total":5}`; status != 200 || got != want {
		t.Errorf("got %d %s, want %s", status, got, want)
	}
	if status, got = post(t, url+"/data/order/o1/declared", ""); status != 200 || !strings.Contains(got, `"note":"billed to ann"`) {
		t.Errorf("got %d %s", status, got)
	}
	if status, got = post(t, url+"/data/order/o1/markPaid", "{}"); status != 200 || got != `{"id":"o1","title":"lamp","total":5}` {
		t.Errorf("got %d %s", status, got)
	}
	for body, want := range map[string]string{
		`{"price":"x"}`: `"field":"price","code":"invalid_type"`, `{"cost":1}`: `"field":"cost","code":"unknown_field"`,
	} {
		if status, got = post(t, url+"/data/order/o1/bill", body); status != 422 || !strings.Contains(got, want) || strings.Contains(got, "struct") {
			t.Errorf("%s: got %d %s", body, status, got)
		}
	}
}

// What a handler does to its caller's roles changes no right: the credential
// serves the next request, too.
func TestAHandlerCannotChangeItsCaller(t *testing.T) {
	c := site(t, strings.Replace(bellBoot, "{id: ann,", "{id: ann, roles: [clerk],", 1), shopSchema)
	c.Operations = []rowcast.Operation{
		{Entity: "order", Name: "declared", Handler: func(context.Context, *rowcast.Call) error { return nil }},
		{Entity: "order", Name: "rise", Kind: "read", Cardinality: "many", Handler: func(_ context.Context, c *rowcast.Call) error {
			roles := c.Caller().Roles
			err := c.Reply(strings.Join(roles, " "))
			roles[0] = "staff"
			return err
		}},
	}
	_, url := live(t, c)
	for range 2 {
		if status, got := post(t, url+"/data/order/rise", ""); status != 200 || got != `"clerk"` {
			t.Errorf("got %d %s", status, got)
		}
	}
}

// An operation that is on no row stands under the entity, where no row could.
func TestOperationsOnNoRow(t *testing.T) {
	url := shop(t,
		rowcast.Operation{Entity: "order", Name: "open", Action: "create", RealtimeEvent: "created", Handler: func(_ context.Context, c *rowcast.Call) error {
			_, err := c.Create("order", map[string]any{"id": "o1", "title": "opened"})
			return err
		}},
		rowcast.Operation{Entity: "order", Name: "clear", Cardinality: "many", Action: "delete", Handler: func(_ context.Context, c *rowcast.Call) error {
			return c.Delete("order", "o1")
		}},
		rowcast.Operation{Entity: "order", Name: "count", Kind: "read", Cardinality: "many", Handler: func(_ context.Context, c *rowcast.Call) error {
			rows, err := c.Find("order", "")
			if err != nil {
				return err
			}
			return c.Reply(len(rows))
		}},
	)
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/data/order/open", 200, `{"id":"o1","title":"opened","total":null}`},
		{"/data/order/open", 409, `"code":"conflict"`},
		{"/data/order/count", 200, `1`},
		{"/data/order/clear", 200, `{"changed":1}`},
		{"/data/order/count", 200, `0`},
		{"/data/order/o1/open", 404, `"available":["declared","markPaid"]`},
		{"/data/order/markPaid", 405, `"code":"method_not_allowed"`},
		{"/data/order/bulk", 400, `"code":"malformed_body"`},
	} {
		if status, got := post(t, url+c.path, ""); status != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %d %s, want %d %s", c.path, status, got, c.status, c.want)
		}
	}
}

// record is what was logged. Safe for concurrent use.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// What a handler gets wrong is the server's fault: logged, and not shown.
func TestAnOperationThatFailsShowsNothingOfIt(t *testing.T) {
	var log record
	c := site(t, bellBoot, shopSchema)
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	handler := func(f func(c *rowcast.Call) error) rowcast.Handler {
		return func(_ context.Context, c *rowcast.Call) error {
			return errors.Join(c.Set("title", "half done"), f(c))
		}
	}
	c.Operations = []rowcast.Operation{
		{Entity: "order", Name: "declared", Handler: handler(func(c *rowcast.Call) error { return nil })},
		{Entity: "order", Name: "broken", Handler: handler(func(*rowcast.Call) error { return errors.New("the secret cause") })},
		{Entity: "order", Name: "panics", Handler: handler(func(*rowcast.Call) error { panic("the secret panic") })},
		{Entity: "order", Name: "replies", Handler: handler(func(c *rowcast.Call) error { return c.Reply("x") })},
		{Entity: "order", Name: "shapeless", Handler: handler(func(c *rowcast.Call) error { return c.Patch([]int{1}) })},
		{Entity: "order", Name: "refuses", Handler: handler(func(*rowcast.Call) error { return fault.New(fault.Conflict, "it is sold") })},
	}
	_, url := live(t, c)
	post(t, url+"/data/order", `{"id":"o1","title":"lamp"}`)
	for name, want := range map[string]struct {
		status int
		text   string
	}{"broken": {500, "internal"}, "panics": {500, "internal"}, "replies": {500, "internal"}, "shapeless": {500, "internal"}, "refuses": {409, "it is sold"}, "declared": {500, "internal"}} {
		status, got := post(t, url+"/data/order/o1/"+name, "")
		if status != want.status || !strings.Contains(got, want.text) || strings.Contains(got, "secret") {
			t.Errorf("%s: got %d %s", name, status, got)
		}
	}
	if _, got := send(t, request(t, http.MethodGet, url+"/data/order/o1", http.NoBody)); !strings.Contains(got, `"title":"lamp"`) {
		t.Errorf("got %s", got)
	}
	for _, want := range []string{"the secret cause", "the secret panic"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q", want)
		}
	}
}

// What is wrong with an operation is refused when the server is opened, with the
// operation's name and the way out.
func TestOpenRefusesOperations(t *testing.T) {
	does := func(context.Context, *rowcast.Call) error { return nil }
	declared := rowcast.Operation{Entity: "order", Name: "declared", Handler: does}
	for name, c := range map[string]struct {
		operations []rowcast.Operation
		says       string
	}{
		"no handler for what the schema declares": {nil, `operation "declared"`},
		"no handler":               {[]rowcast.Operation{declared, {Entity: "order", Name: "a"}}, `operation "a" of entity "order" has no handler`},
		"no entity":                {[]rowcast.Operation{declared, {Name: "a", Handler: does}}, `operation "a" of entity "": no tenant's schema`},
		"an unknown entity":        {[]rowcast.Operation{declared, {Entity: "ordr", Name: "a", Handler: does}}, `operation "a" of entity "ordr": no tenant's schema declares that entity`},
		"no name":                  {[]rowcast.Operation{declared, {Entity: "order", Handler: does}}, "no part of a URL"},
		"a name that is a path":    {[]rowcast.Operation{declared, {Entity: "order", Name: "a/b", Handler: does}}, "no part of a URL"},
		"given twice":              {[]rowcast.Operation{declared, {Entity: "order", Name: "Declared", Handler: does}}, "given twice"},
		"a standard name":          {[]rowcast.Operation{declared, {Entity: "order", Name: "UpdateOne", Handler: does}}, "standard operation"},
		"a route's name":           {[]rowcast.Operation{declared, {Entity: "order", Name: "bulk", Handler: does}}, "rename it"},
		"another kind":             {[]rowcast.Operation{declared, {Entity: "order", Name: "a", Kind: "wirte", Handler: does}}, `kind is "wirte"`},
		"another cardinality":      {[]rowcast.Operation{declared, {Entity: "order", Name: "a", Cardinality: "two", Handler: does}}, `cardinality is "two"`},
		"another action":           {[]rowcast.Operation{declared, {Entity: "order", Name: "a", Action: "purge", Handler: does}}, `action is "purge"`},
		"another event":            {[]rowcast.Operation{declared, {Entity: "order", Name: "a", RealtimeEvent: "left", Handler: does}}, `realtimeevent is "left"`},
		"an event of a read":       {[]rowcast.Operation{declared, {Entity: "order", Name: "a", Kind: "read", RealtimeEvent: "updated", Handler: does}}, "realtimeevent"},
		"an event of many":         {[]rowcast.Operation{declared, {Entity: "order", Name: "a", Cardinality: "many", RealtimeEvent: "updated", Handler: does}}, "realtimeevent"},
		"the schema says what":     {[]rowcast.Operation{declared, {Entity: "order", Name: "markPaid", Handler: does}}, "what it sets; remove set"},
		"the schema says it apart": {[]rowcast.Operation{declared, {Entity: "order", Name: "markpaid", Handler: does}}, "write it alike"},
		"the schema says another":  {[]rowcast.Operation{{Entity: "order", Name: "declared", Kind: "write", Handler: does}}, `"read" in the schema`},
	} {
		t.Run(name, func(t *testing.T) {
			conf := site(t, bellBoot, shopSchema)
			conf.Operations = c.operations
			s, err := rowcast.Open(t.Context(), conf)
			if s != nil {
				_ = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}
