package delivery

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/servertest"
)

// market is what the tests of single rules serve: notes that everybody reads,
// offers with row rules, masks and a selection of fields, tickets with publishers
// of each kind, and scraps that no target ever asks for.
const market = `
entities:
  - name: note
    fields:
      - {name: id, type: string}
      - {name: text, type: string}
    events: [{name: changed}]
    subscriptions: [{name: all}]

  - name: offer
    fields:
      - {name: id, type: string}
      - {name: title, type: string}
      - {name: price, type: int}
      - {name: card, type: string, mask: {keeplast: 2}}
      - {name: margin, type: int}
      - {name: remarks, type: string}
      - {name: owner_id, type: string, defaultvalue: user.id}
    access:
      actions: {language: expr, expression: '"blind" in user.roles ? [] : ["create","read","update","delete"]'}
      read: {language: expr, expression: '"billing" in user.roles ? ["id","title","price","card","remarks","owner_id"] : true'}
    rowrules:
      - {name: own, actions: [create, read, update, delete], language: expr, expression: row.owner_id == user.id}
      - {name: bills, actions: [read], language: expr, expression: '"billing" in user.roles and row.title != "hidden"'}
    events: [{name: changed, exclude: [remarks]}]
    subscriptions: [{name: mine, rls: true}]

  - name: ticket
    fields:
      - {name: id, type: string}
      - {name: n, type: int}
    events:
      - {name: opened, topic: ticket.opened, operations: [create]}
      - {name: large, topic: ticket.large, condition: {language: expr, expression: payload.n > 5}}
      - {name: single, topic: ticket.single, bulk: false}

  - name: scrap
    fields:
      - {name: id, type: string}
      - {name: text, type: string}
    events: [{name: changed}]
`

// noteTopic is what a target of notes says of its topics.
const noteTopic = "topics: [entity.note]"

// open starts a server of the market that delivers to the targets.
func open(t *testing.T, targets ...string) *servertest.Server {
	t.Helper()
	return servertest.Start(t, servertest.Options{Schema: market, Targets: targets})
}

// desk is from where an operator looks after a server's deliveries.
type desk struct {
	*servertest.Caller
	t *testing.T
}

func deskOf(t *testing.T, s *servertest.Server) desk { return desk{s.User("ops", "admin"), t} }

const events = "/admin/data/events/"

// receiving is how long a test waits for what must come, on a busy machine too.
const receiving = 2 * time.Minute

// queued is a delivery as it is listed.
type queued struct {
	ID, Target, Topic, Event, Tenant, Entity, Subject, Status string
	Attempts                                                  int
	NextAt                                                    *time.Time
	LastStatus                                                *int
	LastError                                                 *string
	Created                                                   time.Time
}

// why is the last error, or nothing.
func (q queued) why() string {
	if q.LastError == nil {
		return ""
	}
	return *q.LastError
}

// status is the last answer's, or 0.
func (q queued) status() int {
	if q.LastStatus == nil {
		return 0
	}
	return *q.LastStatus
}

func read[T any](t *testing.T, a *servertest.Answer) (doc T) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Is(200).Body), &doc); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	return doc
}

// page returns one page of the deliveries that wait.
func (d desk) page(query string) (items []queued, next string) {
	d.t.Helper()
	page := read[struct {
		Items []queued
		Next  *string
	}](d.t, d.Get(events+"pending?"+query))
	if page.Next != nil {
		next = url.QueryEscape(*page.Next)
	}
	return page.Items, next
}

func (d desk) pending() []queued { d.t.Helper(); items, _ := d.page("limit=100"); return items }

// until looks again and again until the deliveries that wait are as wanted.
func (d desk) until(what string, as func([]queued) bool) []queued {
	d.t.Helper()
	for deadline := time.Now().Add(receiving); ; servertest.Pass(d.t.Context(), 20*time.Millisecond) {
		items := d.pending()
		if as(items) {
			return items
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("no %s within %s; there are %s", what, receiving, describe(items))
		}
	}
}

// failed waits until so many deliveries, and no others, wait for an operator.
func (d desk) failed(n int) []queued {
	d.t.Helper()
	return d.until(fmt.Sprintf("%d failed deliveries alone", n), func(items []queued) bool {
		return len(items) == n && allAre(items, func(q queued) bool { return q.Status == "failed" })
	})
}

// idle waits until nothing waits any more.
func (d desk) idle() {
	d.t.Helper()
	d.until("empty queue", func(items []queued) bool { return len(items) == 0 })
}

func describe(items []queued) (text string) {
	for _, q := range items {
		text += fmt.Sprintf("\n%s %s %s %s: %s after %d attempts, %d %q", q.ID, q.Target, q.Event, q.Subject, q.Status, q.Attempts, q.status(), q.why())
	}
	return text
}

func allAre[T any](list []T, is func(T) bool) bool {
	for _, one := range list {
		if !is(one) {
			return false
		}
	}
	return true
}

// ids quotes the ids of deliveries as {"ids": […]}.
func idsOf(items ...queued) string {
	ids := []string{}
	for _, q := range items {
		ids = append(ids, q.ID)
	}
	text, _ := json.Marshal(map[string][]string{"ids": ids}) // texts alone
	return string(text)
}

// depth counts by status.
type depth struct{ Pending, Claimed, Failed int }

// stats is the answer of GET …/stats.
type stats struct {
	Depth    depth
	Counters struct{ Attempted, Delivered, Retried, Failed, LeaseLost int }
	Targets  []struct {
		Name, URL, Timeout, Breaker, Order string
		Topics                             []string
		MaxInFlight, InFlight, Blocked     int
		Depth                              depth
	}
	OldestDue  *time.Time
	Undeclared []struct {
		Name  string
		Depth depth
	}
}

func (d desk) stats() stats { d.t.Helper(); return read[stats](d.t, d.Get(events+"stats")) }

// attempted is a row of the attempt log.
type attempted struct {
	Number, Milliseconds int
	At                   time.Time
	Status               *int
	Error                *string
	Outcome              string
}

func (d desk) attempts(id string) []attempted {
	d.t.Helper()
	return read[struct{ Items []attempted }](d.t, d.Get(events+"attempts?id="+id)).Items
}

// moved is the answer of requeue and skip.
type moved struct {
	Requeued, Removed []string
	Skipped           []struct{ ID, Reason string }
	More              bool
}

func (d desk) requeue(body string) moved {
	d.t.Helper()
	return read[moved](d.t, d.Post(events+"requeue", body))
}

func (d desk) skip(items ...queued) moved {
	d.t.Helper()
	return read[moved](d.t, d.Post(events+"skip", idsOf(items...)))
}

// putBack requeues these, and fails the test where one of them stays.
func (d desk) putBack(items ...queued) {
	d.t.Helper()
	if m := d.requeue(idsOf(items...)); len(m.Requeued) != len(items) || len(m.Skipped) != 0 {
		d.t.Fatalf("of %d %d are requeued: %+v", len(items), len(m.Requeued), m)
	}
}

// of returns the first delivery for a target.
func (d desk) of(items []queued, target string) queued {
	for _, q := range items {
		if q.Target == target {
			return q
		}
	}
	return queued{}
}

// find returns the delivery of an id among those that wait.
func (d desk) find(id string) queued {
	d.t.Helper()
	for _, q := range d.pending() {
		if q.ID == id {
			return q
		}
	}
	d.t.Fatalf("delivery %s does not wait", id)
	return queued{}
}

// logged waits until a delivery has so many attempts in the log.
func (d desk) logged(id string, n int) []attempted {
	d.t.Helper()
	for deadline := time.Now().Add(receiving); ; servertest.Pass(d.t.Context(), 20*time.Millisecond) {
		log := d.attempts(id)
		if len(log) >= n {
			return log
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("%d attempts are logged of %s, want %d", len(log), id, n)
		}
	}
}

// settled waits until so many attempts are counted by what they came to, which is
// a moment after the queue shows it.
func (d desk) settled(n int) stats {
	d.t.Helper()
	for deadline := time.Now().Add(receiving); ; servertest.Pass(d.t.Context(), 20*time.Millisecond) {
		s := d.stats()
		if c := s.Counters; c.Delivered+c.Retried+c.Failed+c.LeaseLost >= n {
			return s
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("%d attempts are never counted: %+v", n, s.Counters)
		}
	}
}

// metric waits until the series of a metric are, in sum, what they should be: some
// are read every few seconds.
func (d desk) metric(s *servertest.Server, series string, want float64) {
	d.t.Helper()
	for deadline := time.Now().Add(receiving); ; servertest.Pass(d.t.Context(), 20*time.Millisecond) {
		got, found := sumOf(d.t, s.Metrics().Text, series)
		if found && got == want {
			return
		}
		if time.Now().After(deadline) {
			d.t.Errorf("%s} is %v, want %v; it is there: %v", series, got, want, found)
			return
		}
	}
}

// sumOf adds up the series of a metric that bear a label, written NAME{label="value".
func sumOf(t *testing.T, text, series string) (sum float64, found bool) {
	t.Helper()
	name, label, _ := strings.Cut(series, "{")
	for line := range strings.Lines(text) {
		if (strings.HasPrefix(line, name+"{") || strings.HasPrefix(line, name+" ")) && strings.Contains(line, label) {
			var v float64
			if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &v); err != nil {
				t.Fatal(err)
			}
			sum, found = sum+v, true
		}
	}
	return sum, found
}
