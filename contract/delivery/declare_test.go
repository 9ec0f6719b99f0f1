package delivery

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

const (
	somewhere = `url: "https://receiver.example/hooks"`
	sealed    = `secret: "a-secret-for-tests"`
)

// place begins each line of a refusal.
var place = regexp.MustCompile(`^\S*rowcast\.yaml:([0-9]+):[0-9]+: `)

// Declared targets: one that cannot work is refused, by check and by serve with
// the very same lines, each of which names its place in the document and what is
// wrong. None is left out in silence.
func TestATargetThatCannotWorkKeepsTheServerFromStarting(t *testing.T) {
	t.Parallel()
	every := []struct{ name, keys, mentions string }{
		{"no url", sealed + ", " + noteTopic, "url is missing"},
		{"a url that is not http", `url: "ftp://receiver.example", ` + sealed + ", " + noteTopic, "http:// or https://"},
		{"a url without a host", `url: "https:///hooks", ` + sealed + ", " + noteTopic, "names no host"},
		{"a url with a password", `url: "https://u:p@receiver.example", ` + sealed + ", " + noteTopic, "credentials"},
		{"a url of cloud metadata", `url: "http://169.254.169.254/", ` + sealed + ", " + noteTopic, "link-local"},
		{"no secret", somewhere + ", " + noteTopic, "unsigned"},
		{"an empty secret", somewhere + `, secret: "", ` + noteTopic, "secret"},
		{"no secrets in a list", somewhere + ", secret: [], " + noteTopic, "empty list"},
		{"a secret that is no base64", somewhere + `, secret: "whsec_*", ` + noteTopic, "base64"},
		{"no topics", somewhere + ", " + sealed, "topics is missing"},
		{"an empty list of topics", somewhere + ", " + sealed + ", topics: []", "topics is empty"},
		{"a topic that nobody publishes", somewhere + ", " + sealed + ", topics: [entity.nte]", `did you mean "entity.note"?`},
		{"a misspelt key", somewhere + ", " + sealed + ", " + noteTopic + ", timeuot: 1s", `did you mean "timeout"?`},
		{"no time", somewhere + ", " + sealed + ", " + noteTopic + ", timeout: 0s", "timeout"},
		{"a time without a unit", somewhere + ", " + sealed + ", " + noteTopic + ", timeout: 10", "timeout"},
		{"another order", somewhere + ", " + sealed + ", " + noteTopic + ", order: strict", "write row"},
		{"nothing in flight", somewhere + ", " + sealed + ", " + noteTopic + ", maxinflight: 0", "maxinflight"},
		{"rowcast's own header", somewhere + ", " + sealed + ", " + noteTopic + `, headers: {x-kisai-topic: a}`, "X-Kisai-Topic is set"},
		{"a header of Standard Webhooks", somewhere + ", " + sealed + ", " + noteTopic + `, headers: {Webhook-Id: a}`, "Webhook-Id is set"},
		{"the Host", somewhere + ", " + sealed + ", " + noteTopic + `, headers: {Host: a}`, "Host is set"},
		{"the Content-Type", somewhere + ", " + sealed + ", " + noteTopic + `, headers: {Content-Type: text/plain}`, "Content-Type is set"},
		{"a header of two lines", somewhere + ", " + sealed + ", " + noteTopic + `, headers: {X-A: "a\nX-B: b"}`, "line breaks"},
		{"a ca that is not there", somewhere + ", " + sealed + ", " + noteTopic + ", ca: nowhere.pem", "no such file"},
		{"a ca without TLS", `url: "http://127.0.0.1:9/", ` + sealed + ", " + noteTopic + ", ca: nowhere.pem", "goes with https"},
		{"as without an id", somewhere + ", " + sealed + ", " + noteTopic + ", as: {roles: [a]}", "id is missing"},
		{"as who may not read", somewhere + ", " + sealed + ", topics: [entity.offer], as: {id: svc, roles: [blind]}", "may not read entity offer"},
	}
	targets := []string{}
	for i, c := range every {
		targets = append(targets, "t"+string(rune('a'+i))+": {"+c.keys+"}")
	}
	said := refusedAlike(t, servertest.Options{Schema: market, Targets: targets})
	first := lineOf(t, said, every[0].mentions)
	for i, c := range every {
		t.Run(c.name, func(t *testing.T) {
			if got := lineOf(t, linesAt(said, first+i), c.mentions); got != first+i {
				t.Errorf("refused at line %d, want %d", got, first+i)
			}
		})
	}
}

// refusedAlike returns what check says of the documents, which must be what serve
// says of them, and both must fail.
func refusedAlike(t *testing.T, o servertest.Options) string {
	t.Helper()
	out, said, status := servertest.Command(t, o, "check")
	served, complained, as := servertest.Command(t, o, "serve")
	if status != 1 || as != 1 || out != "" || served != "" {
		t.Errorf("check ends with %d and says %q, serve with %d and says %q", status, out, as, served)
	}
	if said != complained {
		t.Errorf("check and serve differ:\n%s\n%s", said, complained)
	}
	return said
}

// linesAt returns the refusals at a line of the boot document.
func linesAt(said string, line int) (some string) {
	for text := range strings.Lines(said) {
		if m := place.FindStringSubmatch(text); m != nil && m[1] == strconv.Itoa(line) {
			some += text
		}
	}
	return some
}

// lineOf returns at which line of the boot document something is refused with a
// message that mentions something.
func lineOf(t *testing.T, said, mentions string) int {
	t.Helper()
	for text := range strings.Lines(said) {
		if m := place.FindStringSubmatch(text); m != nil && strings.Contains(text, mentions) {
			line, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			return line
		}
	}
	t.Fatalf("nothing says %q:\n%s", mentions, said)
	return 0
}

// Declared targets: url, secret and topics have no default and the time of an
// attempt is 10 seconds; an operator is shown what is declared.
func TestWhatATargetSaysNothingOf(t *testing.T) {
	t.Parallel()
	s := open(t, "plain: {"+somewhere+", "+sealed+", "+noteTopic+"}",
		"full: {"+somewhere+", "+sealed+", topics: [entity.note, ticket.large], timeout: 1500ms, order: row, maxinflight: 3}")
	targets := deskOf(t, s).stats().Targets
	if len(targets) != 2 {
		t.Fatalf("%+v", targets)
	}
	plain, full := targets[0], targets[1]
	if plain.Name != "plain" || plain.URL != "https://receiver.example/hooks" || plain.Timeout != "10s" || plain.MaxInFlight != 8 ||
		plain.Order != "" || !slices.Equal(plain.Topics, []string{"entity.note"}) {
		t.Errorf("plain: %+v", plain)
	}
	if full.Name != "full" || full.Timeout != "1.5s" || full.MaxInFlight != 3 || full.Order != "row" ||
		!slices.Equal(full.Topics, []string{"entity.note", "ticket.large"}) {
		t.Errorf("full: %+v", full)
	}
}

// The schema does not change: where events go, and what signs them, is the
// deployment's; a schema that says anything of it is refused.
func TestASchemaSaysNothingOfDelivery(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"targets", "url", "secret", "delivery", "webhook"} {
		for name, schema := range map[string]string{
			"schema": market + key + ": {}\n",
			"entity": market + "    " + key + ": {}\n",
			"event":  strings.Replace(market, "{name: changed}", "{name: changed, "+key+": a}", 1),
		} {
			err := servertest.Refusal(t, servertest.Options{Schema: schema, Driver: "sqlite"})
			if text := err.Error(); !strings.Contains(text, "schema.yaml:") || !strings.Contains(text, key) {
				t.Errorf("%s of the %s is refused with %s", key, name, text)
			}
		}
	}
}

// Running the queue: nothing is scheduled where no target is declared. Such a
// server writes as ever, has no queue to look after and says so, and its
// scheduler key is no mistake.
func TestWithoutTargetsThereIsNoQueue(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Options{Schema: market, Boot: "scheduler: {outbox: {every: 1s}}\n"})
	s.User("ann").Post("/data/note", `{"id":"a"}`).Is(201)
	d := deskOf(t, s)
	if items := d.pending(); len(items) != 0 {
		t.Errorf("there wait %s", describe(items))
	}
	if got := d.stats(); got.Depth != (depth{}) || len(got.Targets) != 0 || got.OldestDue != nil {
		t.Errorf("stats: %+v", got)
	}
	d.Post(events+"drain", "").Problem(409, "no_target_declared")
	d.Post(events+"requeue", `{"target":"billing"}`).Problem(409, "no_target_declared")
	d.Post(events+"test", `{"target":"billing"}`).Problem(409, "no_target_declared")
	if text := s.Metrics().Text; strings.Contains(text, "rowcast_deliver") {
		t.Error("there are metrics of deliveries")
	}
}

// Running the queue: how often the queue is looked at is the deployment's, within
// bounds; the key is spelt as it is written there.
func TestTheSchedulersSlotIsChecked(t *testing.T) {
	t.Parallel()
	for boot, mentions := range map[string]string{
		"scheduler: {outbox: {every: 0s}}\n":  "every",
		"scheduler: {outbox: {evry: 10s}}\n":  `did you mean "every"?`,
		"scheduler: {oubox: {every: 10s}}\n":  `did you mean "outbox"?`,
		"scheduler: {outbox: {every: 10}}\n":  "every",
		"shceduler: {outbox: {every: 10s}}\n": `did you mean "scheduler"?`,
	} {
		err := servertest.Refusal(t, servertest.Options{Schema: market, Boot: boot, Driver: "sqlite"})
		if text := err.Error(); !strings.Contains(text, "rowcast.yaml:") || !strings.Contains(text, mentions) {
			t.Errorf("%s is refused with %s", boot, text)
		}
	}
}

// Declared targets: what no tenant publishes is refused; what one of several
// publishes is enough.
func TestATopicOfOneTenantIsEnough(t *testing.T) {
	t.Parallel()
	other := "entities:\n  - name: bill\n    fields: [{name: id, type: string}]\n    events: [{name: changed}]\n"
	r := servertest.Receive(t)
	s := servertest.Start(t, servertest.Options{
		Schema: market, Targets: []string{r.Target("bills", "topics: [entity.bill]")},
		Tenants: map[string]string{"acme:test:shop:t2": other},
	})
	s.As(s.TokenOf("acme:test:shop:t2", "ann")).Post("/data/bill", `{"id":"a"}`).Is(201)
	if got := decode(t, r.Await(1)[0].Body); got.Entity != "bill" || got.Tenant != "acme:test:shop:t2" {
		t.Errorf("got %+v", got)
	}
}
