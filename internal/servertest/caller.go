package servertest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Caller sends requests as one principal.
type Caller struct {
	server *Server
	token  string
	header http.Header
}

// As returns a caller for a token; "" sends no credential.
func (s *Server) As(token string) *Caller { return &Caller{server: s, token: token} }

// User returns a caller with a token of the default tenant.
func (s *Server) User(sub string, roles ...string) *Caller { return s.As(s.Token(sub, roles...)) }

// In returns the server for a subtest: what goes wrong with what it returns is
// the failure of that test alone, and its streams end with it.
func (s *Server) In(t testing.TB) *Server {
	other := *s
	other.t = t
	return &other
}

// With returns a caller that also sends a header.
func (c *Caller) With(name, value string) *Caller {
	header := c.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set(name, value)
	return &Caller{server: c.server, token: c.token, header: header}
}

// Answer is a response, read whole.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	t      testing.TB
}

// Do sends a request. A body is JSON unless a header says otherwise.
func (c *Caller) Do(method, path, body string) *Answer {
	t := c.server.t
	t.Helper()
	resp, err := http.DefaultClient.Do(c.request(method, path, body))
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return c.read(resp, method+" "+path)
}

func (c *Caller) read(resp *http.Response, asked string) *Answer {
	t := c.server.t
	t.Helper()
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", asked, err)
	}
	return &Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(text), t: t}
}

func (c *Caller) request(method, path, body string) *http.Request {
	t := c.server.t
	t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, c.server.URL+path, content)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	return req
}

// Get sends no body.
func (c *Caller) Get(path string) *Answer { c.server.t.Helper(); return c.Do("GET", path, "") }

// Post sends JSON.
func (c *Caller) Post(path, body string) *Answer {
	c.server.t.Helper()
	return c.Do("POST", path, body)
}

// Put sends JSON.
func (c *Caller) Put(path, body string) *Answer { c.server.t.Helper(); return c.Do("PUT", path, body) }

// Patch sends JSON.
func (c *Caller) Patch(path, body string) *Answer {
	c.server.t.Helper()
	return c.Do("PATCH", path, body)
}

// Delete sends no body.
func (c *Caller) Delete(path string) *Answer { c.server.t.Helper(); return c.Do("DELETE", path, "") }

// Is fails the test at once unless the status is the wanted one.
func (a *Answer) Is(status int) *Answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	return a
}

// Problem is an RFC 9457 body.
type Problem struct {
	Type, Title, Detail, Code string
	Status                    int
	Errors                    []struct{ Field, Code, Detail string }
	Available                 []string
}

// Problem checks status and code of a refusal and returns it.
func (a *Answer) Problem(status int, code string) Problem {
	a.t.Helper()
	var p Problem
	if err := json.Unmarshal([]byte(a.Body), &p); err != nil {
		a.t.Fatalf("status %d: not a problem document: %v: %s", a.Status, err, a.Body)
	}
	if a.Status != status || p.Status != status || p.Code != code {
		a.t.Fatalf("got %d %s, want %d %s: %s", a.Status, p.Code, status, code, a.Body)
	}
	if got := a.Header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Errorf("a problem's Content-Type is %q", got)
	}
	return p
}

// Code returns the code of a problem, whatever it is; "" where there is none.
func (a *Answer) Code() string {
	code, _ := a.JSON()["code"].(string)
	return code
}

// JSON decodes the body, numbers kept exact.
func (a *Answer) JSON() map[string]any {
	a.t.Helper()
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader([]byte(a.Body)))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		a.t.Fatalf("not a JSON object: %v: %s", err, a.Body)
	}
	return doc
}

// ID returns the body's id.
func (a *Answer) ID() string {
	a.t.Helper()
	id, ok := a.JSON()["id"].(string)
	if !ok {
		a.t.Fatalf("no id in %s", a.Body)
	}
	return id
}
