package servertest

import (
	"strconv"
	"strings"
	"testing"
)

// Metrics are the values of one scrape.
type Metrics struct {
	Text string
	sums map[string]float64
	t    testing.TB
}

// Metrics reads what the server says of itself.
func (s *Server) Metrics() Metrics {
	s.t.Helper()
	m := Metrics{Text: s.User("root", "admin").Get("/metrics").Is(200).Body, sums: map[string]float64{}, t: s.t}
	for line := range strings.Lines(m.Text) {
		series, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if i := strings.LastIndexByte(line, '}'); i >= 0 { // a label may hold a space
			series, text = line[:i], strings.TrimSpace(line[i+1:])
		}
		name, _, _ := strings.Cut(series, "{")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			m.sums[name] += value
		}
	}
	return m
}

// Of returns the value of a metric, the sum where it has several; one that is
// not there fails the test.
func (m Metrics) Of(name string) float64 {
	m.t.Helper()
	value, there := m.sums[name]
	if !there {
		m.t.Fatalf("no metric %s", name)
	}
	return value
}
