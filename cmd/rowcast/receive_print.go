package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rowcast/rowcast/webhook"
)

// receiver prints what comes, and answers as it was told to. It is safe for
// concurrent use.
type receiver struct {
	receiveOptions
	enough func() // ends the process
	verify http.Handler

	mu       sync.Mutex
	out      io.Writer
	received int            // that verified
	times    map[string]int // by id
}

func newReceiver(o receiveOptions, out io.Writer, enough func()) *receiver {
	r := &receiver{receiveOptions: o, out: out, enough: enough, times: map[string]int{}}
	r.verify = webhook.Middleware(webhook.Options{Secrets: o.secrets, OnError: r.refused}, http.HandlerFunc(r.delivered))
	return r
}

func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rc.path != "/" && r.URL.Path != rc.path {
		rc.refused(r, fmt.Errorf("it was sent to %s, and deliveries are taken at --path %s", legible(r.URL.Path), rc.path))
		http.NotFound(w, r)
		return
	}
	rc.verify.ServeHTTP(w, r)
}

// record is what is printed of one request. Its JSON is for machines.
type record struct {
	Time     time.Time       `json:"time"`
	Verified bool            `json:"verified"`
	Delivery string          `json:"delivery,omitempty"`
	Times    int             `json:"times,omitempty"` // it came, this one counted
	Topic    string          `json:"topic,omitempty"`
	Event    string          `json:"event,omitempty"`
	Subject  string          `json:"subject,omitempty"`
	Schemes  []string        `json:"schemes,omitempty"`
	Status   int             `json:"status,omitempty"` // of the answer
	Body     json.RawMessage `json:"body,omitempty"`   // text where it is no JSON
	Error    string          `json:"error,omitempty"`
	From     string          `json:"from,omitempty"`
}

// delivered prints a delivery that verified, and answers it.
func (rc *receiver) delivered(w http.ResponseWriter, r *http.Request) {
	d, _ := webhook.FromContext(r.Context()) // the middleware put it there
	body, _ := io.ReadAll(r.Body)            // it holds it in memory
	status, last := rc.take(newRecord(d, body))
	if last {
		defer rc.enough()
	}
	if rc.delay > 0 {
		timer := time.NewTimer(rc.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done(): // the sender has gone, or the process ends
			status = http.StatusServiceUnavailable
		}
	}
	if status/100 == 3 {
		w.Header().Set("Location", "/elsewhere") // which nobody may follow
	}
	w.WriteHeader(status)
}

// take counts and prints a delivery. It returns what to answer, and whether no more
// are to come.
func (rc *receiver) take(m record) (status int, last bool) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if rc.count > 0 && rc.received >= rc.count {
		return http.StatusServiceUnavailable, false
	}
	rc.received++
	rc.times[m.Delivery]++
	m.Times, m.Status = rc.times[m.Delivery], rc.answer(rc.received)
	rc.print(m)
	return m.Status, rc.received == rc.count
}

// refused prints why a request was not taken for a delivery. Nothing that it says
// of itself is shown but an id, as no one vouches for it.
func (rc *receiver) refused(r *http.Request, err error) {
	reason := strings.TrimPrefix(err.Error(), "webhook: ")
	switch {
	case errors.Is(err, webhook.ErrSignature):
		reason += "; is the secret the target's, and does a proxy change the body?"
	case errors.Is(err, webhook.ErrTimestamp):
		reason += "; compare the clocks of both machines"
	}
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.print(record{Time: time.Now().UTC(), Delivery: r.Header.Get(webhook.HeaderDelivery), Error: reason, From: r.RemoteAddr})
}

// newRecord reads what a line shows. The body is signed, so it goes before headers.
func newRecord(d webhook.Delivery, body []byte) record {
	m := record{
		Time: time.Now().UTC(), Verified: true, Delivery: d.ID, Topic: d.Topic, Event: d.Event,
		Schemes: strings.Split(d.Scheme.String(), "+"), Body: body,
	}
	var event struct{ Type, Subject string }
	if !json.Valid(body) {
		m.Body, _ = json.Marshal(string(body)) // a string always has a JSON
	} else if json.Unmarshal(body, &event) == nil && event.Type != "" {
		m.Event, m.Subject = event.Type, event.Subject
	}
	return m
}

// print writes one line. The caller holds mu.
func (rc *receiver) print(m record) {
	var line bytes.Buffer
	if rc.json {
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(m) // of texts and numbers, and of a body that is valid
	} else {
		line.WriteString(m.text())
	}
	_, _ = rc.out.Write(line.Bytes()) // a receiver that nobody reads receives all the same
}

// text is the line for people.
func (m record) text() string {
	clock := m.Time.Local().Format(time.TimeOnly)
	if !m.Verified {
		return fmt.Sprintf("%s refused: %s (delivery %s, from %s)\n", clock, m.Error, legible(m.Delivery), m.From)
	}
	again := ""
	if m.Times > 1 {
		again = fmt.Sprintf(", time %d", m.Times)
	}
	var body bytes.Buffer
	if json.Compact(&body, m.Body) != nil {
		body.Write(m.Body)
	}
	return fmt.Sprintf("%s %s %s %s verified by %s%s, answer %d: %s\n",
		clock, legible(m.Event), legible(m.Subject), m.Delivery, strings.Join(m.Schemes, " and "), again, m.Status, body.String())
}

// legible is text that moves no cursor.
func legible(text string) string {
	if text == "" {
		return "-"
	}
	if quoted := strconv.QuoteToGraphic(text); quoted != `"`+text+`"` || strings.Contains(text, " ") {
		return quoted
	}
	return text
}
