package contract

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rowcast/rowcast/internal/servertest"
)

// channelLine is a line of testdata/cases/channel.jsonl: principals, an entity
// or a case.
type channelLine struct {
	Fixture    string
	Principals map[string]*casePrincipal
	Enums      []json.RawMessage
	Entity     *caseEntity

	ID, Group, Note  string
	Schema, Realtime json.RawMessage
	Open             *opening
	Given            []struct {
		Entity string
		Row    json.RawMessage
	}
	Streams    map[string]opening
	Do         []caseStep
	Transports []caseTransport
	Expect     json.RawMessage
}

type casePrincipal struct {
	Sub     string
	Roles   []string
	Expired bool
}

// caseEntity is an entity of a schema, with what a player has to know of it.
type caseEntity struct {
	raw      json.RawMessage
	Name     string
	Fields   []caseField
	Realtime json.RawMessage
}

type caseField struct {
	Name        string
	Validations []struct{ Type string }
}

func (e *caseEntity) UnmarshalJSON(text []byte) error {
	type plain caseEntity
	e.raw = bytes.Clone(text)
	return json.Unmarshal(text, (*plain)(e))
}

// opening is one request to /realtime.
type opening struct {
	As, Query, Method string
	Headers           map[string]*string // null: send none
}

type caseStep struct {
	As, Method, Path string
	Body             json.RawMessage
	Headers          map[string]*string
	Status           any
	Save             string

	Close, Open, Query, After string
}

type caseTransport struct {
	Name       string
	Fails, Nil bool
}

// channelCases is the whole file.
type channelCases struct {
	principals map[string]*casePrincipal
	entities   map[string]*caseEntity
	schema     string // of all entities
	cases      []channelLine
}

func readChannelCases(t *testing.T) *channelCases {
	t.Helper()
	all := &channelCases{entities: map[string]*caseEntity{}}
	var enums, entities []json.RawMessage
	for _, text := range caseLines(t, "channel.jsonl") {
		var l channelLine
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields() // what a case says is played, or the test is wrong
		if err := d.Decode(&l); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		switch {
		case l.Principals != nil:
			all.principals = l.Principals
		case l.Entity != nil:
			enums, entities = append(enums, l.Enums...), append(entities, l.Entity.raw)
			all.entities[l.Entity.Name] = l.Entity
		default:
			all.cases = append(all.cases, l)
		}
	}
	all.schema = schemaJSON(t, enums, entities)
	return all
}

// caseLines returns the lines of a file of cases.
func caseLines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile("../testdata/cases/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(text)))
}

// schemaJSON is a schema: JSON is YAML.
func schemaJSON(t *testing.T, enums, entities []json.RawMessage) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"enums": enums, "entities": entities})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// options say what a case is served on.
func (all *channelCases) options(c channelLine) servertest.Options {
	o := servertest.Options{Schema: all.schema}
	if c.Schema != nil {
		o.Schema = string(c.Schema)
	}
	if c.Realtime != nil {
		o.Boot = "realtime: " + string(c.Realtime) + "\n"
	}
	return o
}

// caller is a principal of the cases; null has no credential.
func (all *channelCases) caller(s *servertest.Server, name string, headers map[string]*string) *servertest.Caller {
	c := s.As("")
	if p := all.principals[name]; p != nil {
		until := time.Now().Add(time.Hour)
		if p.Expired {
			until = time.Now().Add(-time.Hour)
		}
		c = s.As(s.Sign(jwt.MapClaims{"sub": p.Sub, "roles": p.Roles, "tenant": servertest.Tenant, "exp": until.Unix()}))
	}
	for name, v := range headers {
		if v != nil { // no client of these tests sends any of its own
			c = c.With(http.CanonicalHeaderKey(name), *v)
		}
	}
	return c
}

// decodeExact keeps numbers as they are written.
func decodeExact(t testing.TB, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("more than one value: %s", text)
	}
	return v
}

// All of the shared cases of channels, each whole, as its kind is run.
func TestChannelCases(t *testing.T) {
	all := readChannelCases(t)
	shared := servertest.Start(t, all.options(channelLine{}))
	if len(all.cases) != 172 {
		t.Errorf("%d cases; are they all here?", len(all.cases))
	}
	for _, c := range all.cases {
		t.Run(c.ID+" "+c.Group, func(t *testing.T) {
			switch {
			case c.Open != nil:
				all.opens(shared.In(t), t, c)
			case c.Transports != nil:
				all.publishes(t, c)
			case c.Streams == nil:
				all.boots(t, c)
			case c.Schema != nil || c.Realtime != nil:
				all.plays(servertest.Start(t, all.options(c)), t, c)
			default:
				all.plays(shared.In(t), t, c)
			}
		})
	}
}
