package client

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// problemLimit bounds how much of a refusal is read.
const problemLimit = 1 << 20

// Problem is a refusal of the server (RFC 9457, application/problem+json).
// Find it with errors.As.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	// Code is stable, such as "entity_not_found". It is empty where something
	// between client and server answered in its stead.
	Code string `json:"code"`

	// Errors says what is wrong with which field.
	Errors []FieldError `json:"errors,omitempty"`

	// Available lists the names that would have worked.
	Available []string `json:"available,omitempty"`

	// RetryAfter is how long the server asks to wait; 0 where it does not say.
	RetryAfter time.Duration `json:"-"`
}

// FieldError is what is wrong with one field.
type FieldError struct {
	Field  string `json:"field"`
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
}

// Error says status, code and detail in one line.
func (p *Problem) Error() string {
	parts := []string{strconv.Itoa(p.Status)}
	for _, part := range []string{p.Code, p.Detail} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 1 {
		parts = append(parts, p.Title)
	}
	for _, e := range p.Errors {
		parts = append(parts, strings.TrimSpace(e.Field+" "+e.Code+" "+e.Detail))
	}
	if len(p.Available) > 0 {
		parts = append(parts, "available: "+strings.Join(p.Available, ", "))
	}
	return strings.Join(parts, ": ")
}

// readProblem reads a refusal. A body that is not a problem, such as a proxy's
// page, becomes its detail.
func readProblem(resp *http.Response) *Problem {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, problemLimit))
	problem := &Problem{}
	if err := json.Unmarshal(body, problem); err != nil || problem.Code == "" && problem.Title == "" {
		problem = &Problem{Detail: firstLine(body)}
	}
	problem.Status = resp.StatusCode
	if problem.Title == "" {
		problem.Title = http.StatusText(resp.StatusCode)
	}
	problem.RetryAfter = retryAfter(resp.Header.Get("Retry-After"))
	return problem
}

// retryAfter understands seconds; the date form is rare and read as "not said".
func retryAfter(header string) time.Duration {
	seconds, err := strconv.ParseUint(header, 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// firstLine is the beginning of a foreign body, short enough for an error.
func firstLine(body []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(body), "?")), "\n")
	if runes := []rune(line); len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return line
}
