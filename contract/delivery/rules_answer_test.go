package delivery

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/servertest"
)

// verdict is what an answer means.
type verdict struct {
	name, keys string
	reply      servertest.Reply
	status     int    // that is kept; 0: none
	outcome    string // of the first attempt
	why        string // the last error mentions
}

// patient is a target that does not take a busy machine for a slow receiver.
const patient = "timeout: 1m, "

var verdicts = []verdict{
	{"200", patient, servertest.Reply{}, 200, "delivered", ""},
	{"204", patient, servertest.Reply{Status: 204}, 204, "delivered", ""},
	{"299", patient, servertest.Reply{Status: 299}, 299, "delivered", ""},
	{"408", patient, servertest.Reply{Status: 408}, 408, "retried", "408"},
	{"429", patient, servertest.Reply{Status: 429}, 429, "retried", "429"},
	{"400", patient, servertest.Reply{Status: 400}, 400, "failed", "400 Bad Request"},
	{"401", patient, servertest.Reply{Status: 401}, 401, "failed", "401"},
	{"410", patient, servertest.Reply{Status: 410, Header: http.Header{"Retry-After": {"1"}}}, 410, "failed", "410"},
	{"301", patient, servertest.Reply{Status: 301, Header: http.Header{"Location": {"https://moved.example/hooks?token=x"}}}, 301, "retried", "https://moved.example/hooks"},
	{"307", patient, servertest.Reply{Status: 307, Header: http.Header{"Location": {"/elsewhere"}}}, 307, "retried", "/elsewhere"},
	{"500", patient, servertest.Reply{Status: 500}, 500, "retried", "500"},
	{"599", patient, servertest.Reply{Status: 599}, 599, "retried", "599"},
	{"late", "timeout: 3s, ", servertest.Reply{Delay: time.Hour}, 0, "retried", "timeout after 3s"},
}

// Your answer: any 2xx is the end of a delivery; 408, 429, 3xx, 5xx and no answer
// within the target's timeout are tried again with backoff, a redirect is not
// followed and the log says where it led; any other 4xx stops the delivery, which
// waits for an operator. What the answer was is kept and shown.
func TestWhatEachAnswerMeans(t *testing.T) {
	t.Parallel()
	targets, receivers := []string{}, map[string]*servertest.Receiver{}
	for _, v := range verdicts {
		r := servertest.Receive(t, v.reply, servertest.Reply{})
		receivers[v.name] = r
		targets = append(targets, r.Target("t"+v.name, v.keys+noteTopic))
	}
	gone := servertest.Receive(t)
	gone.Down()
	s := open(t, append(targets, gone.Target("trefused", noteTopic))...)
	s.User("ann").Post("/data/note", `{"id":"a"}`).Is(201)
	d := deskOf(t, s)
	for _, v := range verdicts {
		t.Run(v.name, func(t *testing.T) {
			d, r := deskOf(t, s.In(t)), receivers[v.name]
			first := r.Await(1)[0]
			log := d.logged(first.ID, 1)
			if got := log[0]; got.Outcome != v.outcome || got.Number != 1 || value(got.Status) != v.status || !strings.Contains(value(got.Error), v.why) {
				t.Errorf("the log says %d %q: %s", value(got.Status), value(got.Error), got.Outcome)
			}
			if strings.Contains(value(log[0].Error), "token=") {
				t.Errorf("the log has the query of a redirect: %q", value(log[0].Error))
			}
			switch v.outcome {
			case "failed":
				waits := d.find(first.ID)
				if waits.Status != "failed" || waits.Attempts != 1 || waits.NextAt != nil || waits.status() != v.status || !strings.Contains(waits.why(), v.why) {
					t.Errorf("there waits %s", describe([]queued{waits}))
				}
			case "retried":
				if again := r.Await(2)[1]; again.ID != first.ID || again.Path != "/hooks" {
					t.Errorf("then came %s to %s", again.ID, again.Path)
				}
				log := d.logged(first.ID, 2)
				if wait := log[1].At.Sub(log[0].At); wait < 2*time.Second || log[1].Outcome != "delivered" {
					t.Errorf("tried again after %s: %s", wait, log[1].Outcome)
				}
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		d := deskOf(t, s.In(t))
		waits := d.until("an attempt", func(items []queued) bool { return d.of(items, "trefused").Attempts > 0 })
		if got := d.of(waits, "trefused"); got.Status == "failed" || got.status() != 0 || !strings.Contains(got.why(), "refused") {
			t.Errorf("there waits %s", describe(waits))
		}
		gone.Up()
		gone.Await(1)
	})
	d.failed(3)
	for _, v := range verdicts {
		if n, want := len(receivers[v.name].All()), map[string]int{"delivered": 1, "failed": 1, "retried": 2}[v.outcome]; n != want {
			t.Errorf("%s: it came %d times, want %d", v.name, n, want)
		}
	}
}

// value is what p points to, or the zero value.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Backoff doubles from two seconds, and up to a tenth is added at random. When a
// delivery comes next is shown while it waits, and it does not come before.
func TestTheWaitsBetweenAttempts(t *testing.T) {
	t.Parallel()
	r := servertest.Receive(t, servertest.Reply{Status: 500})
	s := open(t, r.Target("billing", noteTopic))
	s.User("ann").Post("/data/note", `{"id":"a"}`).Is(201)
	d := deskOf(t, s)
	for n := 1; n <= 2; { // on a slow machine some waits are over before they are seen
		items := d.until("a wait", func(items []queued) bool {
			return len(items) == 1 && items[0].Status == "pending" && items[0].Attempts >= n && items[0].NextAt.After(time.Now())
		})
		seen, got := time.Now(), items[0]
		n = got.Attempts
		log := d.logged(got.ID, n)
		ended := log[n-1].At.Add(time.Duration(log[n-1].Milliseconds) * time.Millisecond)
		least, most := time.Second<<n, time.Second<<n+time.Second<<n/10
		if got.NextAt.Before(ended.Add(least)) || got.NextAt.After(seen.Add(most)) {
			t.Errorf("after attempt %d, which ended at %s, it comes next at %s; seen at %s", n, ended, got.NextAt, seen)
		}
		if again := r.Await(n + 1)[n]; again.At.Before(got.NextAt.Add(-clockStep)) {
			t.Errorf("attempt %d came at %s, before %s", n+1, again.At, got.NextAt)
		}
		n++
	}
}

// clockStep is how far two readings of this machine's clock may seem reversed: it
// is set while tests run, and databases cut it off.
const clockStep = 50 * time.Millisecond

// Retry-After may lengthen a wait, as seconds or as a date, but not past ten
// minutes, and does not shorten one. One who stops a delivery is not asked when.
func TestRetryAfterLengthensAWait(t *testing.T) {
	t.Parallel()
	asks := func(status int, after string) *servertest.Receiver {
		return servertest.Receive(t, servertest.Reply{Status: status, Header: http.Header{"Retry-After": {after}}})
	}
	until := time.Now().Add(5 * time.Minute).Truncate(time.Second)
	minutes, date, day := asks(429, "180"), asks(503, until.UTC().Format(http.TimeFormat)), asks(503, "86400")
	s := open(t, minutes.Target("minutes", noteTopic), date.Target("date", noteTopic), day.Target("day", noteTopic))
	s.User("ann").Post("/data/note", `{"id":"a"}`).Is(201)
	d := deskOf(t, s)
	items := d.until("three waits", func(items []queued) bool {
		return len(items) == 3 && allAre(items, func(q queued) bool { return q.Status == "pending" && q.Attempts == 1 })
	})
	for name, wait := range map[string]time.Duration{"minutes": 3 * time.Minute, "date": 0, "day": 10 * time.Minute} {
		got := d.of(items, name)
		at, most := d.logged(got.ID, 1)[0].At, time.Now().Add(wait)
		least := at.Add(wait)
		switch name {
		case "date":
			least, most = until, until.Add(time.Since(at))
		case "day": // up to a tenth less, so that not all come back at once
			least = at.Add(wait - wait/10)
		}
		if got.NextAt.Before(least.Add(-clockStep)) || got.NextAt.After(most.Add(clockStep)) {
			t.Errorf("%s: attempted at %s, next at %s", name, at, got.NextAt)
		}
	}
}
