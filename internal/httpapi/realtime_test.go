package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/httpapi"
	"github.com/rowcast/rowcast/internal/hub"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqlite"
	"github.com/rowcast/rowcast/internal/stream"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/schema"
)

// openCase is a line of the shared cases: a fixture, or one request to /realtime.
type openCase struct {
	ID, Fixture, Group string
	Enums              []json.RawMessage
	Entity             json.RawMessage
	Open               *struct {
		As, Query, Method string
		Headers           map[string]*string
	}
	Expect json.RawMessage
}

// opened is what a case expects of the answer.
type opened struct {
	Status         int
	Code           string
	Errors         []struct{ Field, Code string }
	Headers        map[string]string
	Keys, Mentions []string
	Preamble       struct {
		Retry   int
		Comment []string
	}
}

func openCases(t *testing.T) (fixtures, cases []openCase) {
	t.Helper()
	data, err := os.ReadFile("../../testdata/cases/channel.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var c openCase
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		switch {
		case c.Entity != nil:
			fixtures = append(fixtures, c)
		case c.Open != nil:
			cases = append(cases, c)
		}
	}
	if len(cases) < 50 {
		t.Fatalf("%d cases, want all of them", len(cases))
	}
	return fixtures, cases
}

// channels serves the fixtures' entities and their log.
func channels(t *testing.T, fixtures []openCase) *httptest.Server {
	t.Helper()
	var doc struct {
		Enums    []json.RawMessage `json:"enums"`
		Entities []json.RawMessage `json:"entities"`
	}
	for _, f := range fixtures {
		doc.Enums, doc.Entities = append(doc.Enums, f.Enums...), append(doc.Entities, f.Entity)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	model, refusals := schema.Parse([]schema.Source{{Name: "cases.yaml", Data: text}})
	if len(refusals) > 0 {
		t.Fatal(refusals)
	}
	s := &rooms{names: map[string]bool{}}
	for _, e := range model.Entities {
		s.names[e.Name] = true
	}
	s.server = streams(t, model)
	everyone := names{
		"ann": {ID: "ann", Tenant: tenant}, "bob": {ID: "bob", Tenant: tenant}, "staff": {ID: "sue", Tenant: tenant, Roles: []string{"staff"}},
	}
	return serve(t, httpapi.Config{Auth: everyone, Realtime: httpapi.Realtime(s)})
}

func streams(t *testing.T, model *schema.Model) *stream.Server {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	h := hub.New(nil)
	log := tail.New(tail.Config{Entities: map[string]*schema.Entity{}, Sink: h.Publish, Logger: quiet})
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "t.db"), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	policies := map[string]*access.Policy{}
	for _, e := range model.Entities {
		p, refusals := access.Compile(e)
		if len(refusals) > 0 {
			t.Fatal(refusals)
		}
		policies[e.Name] = p
	}
	if _, err := db.Migrate(t.Context(), store.Plan{Entities: model.Entities}); err != nil {
		t.Fatal(err)
	}
	log.Follow(db)
	running, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var followed sync.WaitGroup
	followed.Go(func() { _ = log.Run(running) })
	t.Cleanup(func() { stop(); followed.Wait() })
	secret := []byte(strings.Repeat("s", 32))
	e, err := engine.New(engine.Config{
		Tenant: tenant, Model: model, Policies: policies, Store: db, NewID: func() string { return "" }, Secret: secret, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	server, err := stream.New(stream.Config{
		Tenant: tenant, Model: model, Entities: model.Entities, Engine: e, Store: db, Tail: log, Hub: h, Secret: secret, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// rooms is Streams of one unit.
type rooms struct {
	names  map[string]bool
	server *stream.Server
}

func (r *rooms) Streams(_, entity string) (*stream.Server, bool) { return r.server, r.names[entity] }

// Every refusal of a channel that the shared cases have: in their order, with
// status, code and fields.
func TestChannelRefusals(t *testing.T) {
	fixtures, cases := openCases(t)
	s := channels(t, fixtures)
	for _, c := range cases {
		var want opened
		if err := json.Unmarshal(c.Expect, &want); err != nil {
			t.Fatal(err)
		}
		if want.Status == http.StatusOK {
			continue
		}
		t.Run(c.ID+" "+c.Group, func(t *testing.T) { refusedAs(t, s, c, want) })
	}
}

func refusedAs(t *testing.T, s *httptest.Server, c openCase, want opened) {
	t.Helper()
	a := ask{as: c.Open.As, method: "GET", path: "/realtime?" + c.Open.Query, headers: map[string]string{}}
	if c.Open.Method != "" {
		a.method = c.Open.Method
	}
	if a.as == "nobody" {
		a.as = "" // sends no credential
	}
	for name, v := range c.Open.Headers {
		if v != nil {
			a.headers[name] = *v
		}
	}
	got := a.do(t, s)
	var p struct {
		Code   string
		Errors []struct{ Field, Code string }
	}
	var keys map[string]any
	for _, into := range []any{&p, &keys} {
		if err := json.Unmarshal([]byte(got.body), into); err != nil {
			t.Fatalf("status %d, %v in %s", got.status, err, got.body)
		}
	}
	if got.status != want.Status || (want.Code != "" && p.Code != want.Code) {
		t.Errorf("got %d %s, want %d %s", got.status, got.body, want.Status, want.Code)
	}
	got.has(t, "Content-Type", "application/problem+json")
	for name, v := range want.Headers {
		got.has(t, name, v)
	}
	for _, key := range want.Keys {
		if _, ok := keys[key]; !ok {
			t.Errorf("no %s in %s", key, got.body)
		}
	}
	for _, text := range want.Mentions {
		if !strings.Contains(got.body, text) {
			t.Errorf("%q is not mentioned in %s", text, got.body)
		}
	}
	if want.Errors != nil && !sameSet(p.Errors, want.Errors) {
		t.Errorf("errors %v, want %v", p.Errors, want.Errors)
	}
}

func sameSet[T comparable](a, b []T) bool {
	in := func(all []T) func(T) bool { return func(x T) bool { return !slices.Contains(all, x) } }
	return !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}

// What the shared cases leave open: a refusal each, before any stream.
func TestChannelRefusalsBeyondTheCases(t *testing.T) {
	fixtures, _ := openCases(t)
	s := channels(t, fixtures)
	for query, want := range map[string]struct {
		status int
		code   string
	}{
		"":                                         {400, "bad_channel"},
		"channel=book&channel=card":                {400, "bad_channel"},
		"channel=book.":                            {400, "bad_channel"},
		"channel=ticket.seven":                     {400, "bad_channel"},
		"channel=dark.1&heartbeat=x":               {404, "no_channel"},
		"channel=silent":                           {404, "no_channel"},
		"channel=vault&heartbeat=x":                {403, "forbidden"},
		"channel=book&ops=create":                  {400, "bad_parameter"},
		"channel=book&lifetime=5h":                 {400, "bad_lifetime"},
		"channel=book&leave=true&leave=true":       {400, "bad_parameter"},
		"channel=book&fields=title&fields=id":      {400, "bad_parameter"},
		"channel=book&fields=%zz":                  {400, "invalid_query"},
		"channel=book&changed=":                    {400, "invalid_query"},
		"channel=book&changed=nope":                {400, "invalid_query"},
		"channel=order&changed=card_last4":         {400, "invalid_query"}, // masked for ann
		"channel=order&changed=internal_notes":     {400, "invalid_query"}, // not readable
		"channel=order&fields=internal_notes":      {400, "invalid_query"},
		"channel=card&changed=price":               {400, "invalid_query"}, // does not leave
		"channel=book&filter":                      {400, "invalid_query"},
		"channel=book&filters[title][eq]=x":        {400, "invalid_query"},
		"channel=book&filter[title][eq]=x;leave=1": {400, "invalid_query"},
	} {
		ask{as: "ann", method: "GET", path: "/realtime?" + query}.do(t, s).refused(t, want.status, want.code)
	}
	ask{as: "ann", method: "GET", path: "/realtime?channel=book", body: "{}"}.do(t, s).refused(t, 400, "malformed_body")
	ask{as: "ann", method: "HEAD", path: "/realtime?channel=book"}.do(t, s).is(t, 405)
}

// A channel that may be opened is: 200, the headers of a stream, and its preamble at once.
func TestChannelsThatOpen(t *testing.T) {
	fixtures, cases := openCases(t)
	s := channels(t, fixtures)
	for _, c := range cases {
		var want opened
		if err := json.Unmarshal(c.Expect, &want); err != nil {
			t.Fatal(err)
		}
		if want.Status == http.StatusOK {
			t.Run(c.ID+" "+c.Group, func(t *testing.T) { opensAs(t, s, c, want) })
		}
	}
}

func opensAs(t *testing.T, s *httptest.Server, c openCase, want opened) {
	t.Helper()
	ctx, hangUp := context.WithTimeout(t.Context(), time.Minute)
	defer hangUp()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/realtime?"+c.Open.Query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.Open.As)
	for name, v := range c.Open.Headers {
		if v != nil {
			r.Header.Set(name, *v)
		}
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	retry, err := lines.ReadString('\n')
	comment, err2 := lines.ReadString('\n')
	if resp.StatusCode != http.StatusOK || retry != "retry: 2000\n" || !strings.HasPrefix(comment, ": subscribed ") || err != nil || err2 != nil {
		t.Errorf("got %d, %q, %q, %v", resp.StatusCode, retry, comment, errors.Join(err, err2))
	}
	for _, text := range want.Preamble.Comment {
		if !strings.Contains(comment, text) {
			t.Errorf("the preamble %q does not say %q", comment, text)
		}
	}
	for name, v := range want.Headers {
		if name != "Connection" && resp.Header.Get(name) != v { // net/http keeps that one to itself
			t.Errorf("%s is %q, want %q", name, resp.Header.Get(name), v)
		}
	}
}
