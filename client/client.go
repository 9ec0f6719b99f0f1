package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
)

// Config says which server to talk to, and as whom.
type Config struct {
	// URL is the address of the server, such as "http://127.0.0.1:8080".
	// A path is kept: routes are appended to it. Required.
	URL string

	// Token travels as "Authorization: Bearer": a JWT or an API key.
	// Defaults to none: the server's anonymous caller, if it has one.
	Token string

	// TokenSource, where set, is asked before every request and replaces Token.
	// A stream outlives its token only with it.
	TokenSource func(context.Context) (string, error)

	// HTTPClient makes the requests. Its Timeout does not apply to streams.
	// Defaults to http.DefaultClient.
	HTTPClient *http.Client

	// Logger is told of lost connections and of what a stream does about them,
	// never of tokens or rows. Defaults to silence.
	Logger *slog.Logger
}

// Client reads and writes rows and opens streams. It is safe for concurrent use.
type Client struct {
	base   string
	token  func(context.Context) (string, error)
	http   *http.Client
	logger *slog.Logger
}

// New returns a Client, or an error that says what is wrong with config.
func New(config Config) (*Client, error) {
	base, err := url.Parse(config.URL)
	if err != nil {
		return nil, fmt.Errorf("client: URL: %w", err)
	}
	switch {
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, fmt.Errorf("client: URL %q: want http://HOST:PORT or https://HOST", base.Redacted())
	case base.User != nil:
		return nil, errors.New("client: URL carries a user: give the credential as Token")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("client: URL %q: want no query and no fragment", config.URL)
	}
	c := &Client{
		base:   strings.TrimRight(base.String(), "/"),
		token:  config.TokenSource,
		http:   config.HTTPClient,
		logger: config.Logger,
	}
	if c.token == nil {
		c.token = func(context.Context) (string, error) { return config.Token, nil }
	}
	if c.http == nil {
		c.http = http.DefaultClient
	}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// request returns an authorised request for the route made of segments, each
// escaped so that an id may hold slashes, percent signs and dots.
func (c *Client) request(ctx context.Context, method string, query url.Values, body io.Reader, segments ...string) (*http.Request, error) {
	var target strings.Builder
	target.WriteString(c.base)
	for _, segment := range segments {
		target.WriteByte('/')
		target.WriteString(escape(segment))
	}
	if len(query) > 0 {
		target.WriteString("?" + query.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	token, err := c.token(ctx)
	if err != nil {
		return nil, fmt.Errorf("client: token: %w", err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, nil
}

// escape escapes one path segment; a segment of dots alone would otherwise be
// taken for a step up.
func escape(segment string) string {
	if segment == "." || segment == ".." {
		return strings.ReplaceAll(segment, ".", "%2E")
	}
	return url.PathEscape(segment)
}

// call sends body as JSON and returns the JSON of the answer, nil where it is empty.
func (c *Client) call(ctx context.Context, method string, query url.Values, body any, segments ...string) (_ json.RawMessage, err error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("client: encode the row: %w", err)
		}
		content = bytes.NewReader(encoded)
	}
	req, err := c.request(ctx, method, query, content, segments...)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	answer, _, err := c.exchange(req)
	if err != nil {
		return nil, err
	}
	if len(answer) == 0 {
		return nil, nil
	}
	return answer, nil
}

// exchange sends a request and reads its answer whole; one that is not 2xx is an
// error, a *Problem where it is one.
func (c *Client) exchange(req *http.Request) (answer []byte, header http.Header, err error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("client: %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, nil, readProblem(resp)
	}
	if answer, err = io.ReadAll(resp.Body); err != nil {
		return nil, nil, fmt.Errorf("client: read the answer: %w", err)
	}
	return answer, resp.Header, nil
}
