package boot_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/boot"
)

// told publishes two topics; who may read invoices is decided by roles and claims.
const told = `entities:
  - name: note
    fields: [{name: id, type: ulid}, {name: title, type: string}]
    events: [{name: changed}]
  - name: invoice
    fields: [{name: id, type: ulid}, {name: total, type: int}]
    access:
      actions: {language: expr, expression: '"billing" in user.roles and user.claims.level == 3 ? ["read"] : []'}
      read: {language: expr, expression: 'true'}
    events: [{name: changed, topic: invoices}]
`

const shared = `url: "https://receiver.example/hooks", secret: "a-secret-of-16-b"`

// target declares one target, whose mapping begins at column 22 of line 1.
func target(keys string) string { return with("events: {targets: {t: {" + keys + "}}}") }

// deliveries declares targets with every key.
const deliveries = `events:
  targets:
    billing:
      url: https://receiver.example:8443/hooks?tag=a%20b
      secret: ["${BILLING_SECRET}", "the-one-before-this"]
      timeout: 2s
      topics: [invoices, entity.note]
      as: {id: svc-billing, roles: [billing], claims: {level: 3, "of": [a, true, null, {b: "1"}], note: x}}
      headers: {authorization: "${TOKEN}", X-Tag: "a b"}
      order: row
      maxinflight: 256
      ca: ca.pem
    audit-1:
      url: http://127.0.0.1:9/x
      secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
      topics: [entity.note]
scheduler: {outbox: {every: 1h}}
` + valid

func TestEveryKeyOfATargetIsRead(t *testing.T) {
	dir := folder(t, map[string]string{"rowcast.yaml": deliveries, "schema.yaml": told, "ca.pem": certificate(t)})
	doc, refusals := load(dir, map[string]string{"BILLING_SECRET": "the-current-secret", "TOKEN": "Bearer 42"})
	if len(refusals) > 0 || len(doc.Warnings) > 0 {
		t.Fatalf("refusals %v, warnings %v", refusals, doc)
	}
	want := []boot.Target{{
		Name: "billing", URL: "https://receiver.example:8443/hooks?tag=a%20b", Secrets: []string{"the-current-secret", "the-one-before-this"},
		Timeout: 2 * time.Second, Topics: []string{"invoices", "entity.note"},
		As: &boot.As{ID: "svc-billing", Roles: []string{"billing"}, Claims: map[string]any{
			"level": json.Number("3"), "of": []any{"a", true, nil, map[string]any{"b": "1"}}, "note": "x",
		}},
		Headers: http.Header{"Authorization": {"Bearer 42"}, "X-Tag": {"a b"}}, Ordered: true, MaxInFlight: 256,
	}, {
		Name: "audit-1", URL: "http://127.0.0.1:9/x", Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		Timeout: 10 * time.Second, Topics: []string{"entity.note"}, Headers: http.Header{}, MaxInFlight: 8,
	}}
	got := doc.Events.Targets
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(boot.Target{}, "Pos", "Roots")); diff != "" {
		t.Fatal(diff)
	}
	if got[0].Roots == nil || got[1].Roots != nil || got[0].Pos.Line != 3 || doc.Scheduler.Outbox.Every != time.Hour {
		t.Errorf("roots %v and %v, at %v, every %v", got[0].Roots, got[1].Roots, got[0].Pos, doc.Scheduler.Outbox.Every)
	}
	principal := &access.Principal{ID: "svc-billing", Roles: []string{"billing"}, Tenant: "t1", Claims: want[0].As.Claims}
	if diff := cmp.Diff(principal, got[0].As.Principal("t1")); diff != "" {
		t.Error(diff)
	}
}

// certificate returns one in PEM that signs itself.
func certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// A target that cannot work refuses boot (durable delivery: what refuses boot).
func TestATargetThatCannotWorkIsRefused(t *testing.T) {
	topics := "topics: [entity.note]"
	urled := func(text string) string {
		return target("url: \"" + text + "\", secret: \"a-secret-of-16-b\", " + topics)
	}
	signed := func(secret string) string {
		return target(`url: "https://a.example", secret: ` + secret + ", " + topics)
	}
	more := func(keys string) string { return target(shared + ", " + topics + ", " + keys) }
	about := func(topics string) string { return target(shared + ", topics: " + topics) }
	as := func(as string) string { return target("as: " + as + ", topics: [entity.note, invoices], " + shared) }
	refuses(t, map[string]string{
		"schema.yaml": told, "empty.pem": "nothing", "broken.pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
	}, []refusal{
		{"nothing in it", target(""), []string{"1:23: url is missing", "1:23: secret is missing; an unsigned delivery", "1:23: topics is missing; say what is delivered; published are entity.note, invoices"}},
		{"no mapping", with("events: {targets: {t: a}}"), []string{"1:23: t: a target must be a mapping"}},
		{"targets as a list", with("events: {targets: [a]}"), []string{"1:19: targets: expected a mapping"}},
		{"a misspelt key", more("timeuot: 1s"), []string{`unknown key "timeuot" in a target; did you mean "timeout"?`}},
		{"a target's name with a blank", with("events: {targets: {\"a b\": {" + shared + ", " + topics + "}}}"), []string{"1:20: not a target's name"}},

		{"no scheme", urled("receiver.example/hooks"), []string{"must begin with http:// or https://"}},
		{"another scheme", urled("ftp://receiver.example"), []string{"must begin with http:// or https://"}},
		{"no host", urled("https:///hooks"), []string{"names no host"}},
		{"a port alone", urled("https://:8080/hooks"), []string{"names no host"}},
		{"a port that is none", urled("https://a.example:70000"), []string{"has no usable port"}},
		{"a port that is no number", urled("https://a.example:http"), []string{"cannot be read"}},
		{"credentials", urled("https://u:p@a.example"), []string{"holds credentials; take them out and send them with headers"}},
		{"a fragment", urled("https://a.example/#a"), []string{"ends in a fragment"}},
		{"an empty fragment", urled("https://a.example/#"), []string{"ends in a fragment"}},
		{"a link-local address", urled("http://169.254.169.254/latest"), []string{"is a link-local address"}},
		{"an empty url", urled(""), []string{"must begin with http:// or https://"}},
		{"a url that is a list", target(`url: [a], secret: "a-secret-of-16-b", ` + topics), []string{"url: expected text"}},

		{"an empty secret", signed(`""`), []string{"a secret cannot be used"}},
		{"no secrets", signed("[]"), []string{"secret is an empty list"}},
		{"an empty secret in a list", signed(`["a-secret-of-16-b", ""]`), []string{"a secret cannot be used"}},
		{"a secret that is no base64", signed(`"whsec_a-secret-of-16"`), []string{"a secret cannot be used"}},
		{"a secret that is a number", signed("12345678901234567890"), []string{"secret: expected text, found a number or the like"}},

		{"no topics", about("[]"), []string{"topics is empty"}},
		{"one topic, no list", about("entity.note"), []string{"topics: "}},
		{"an empty topic", about(`[""]`), []string{"a topic is empty"}},
		{"a topic twice", about("[invoices, invoices]"), []string{"the topic is named twice"}},
		{"a topic that nobody publishes", about("[entity.invoice]"), []string{"nobody publishes to this topic, so that nothing would ever be delivered; did you mean \"entity.note\"? published are entity.note, invoices"}},
		{"a topic like no other", about("[orders-of-today]"), []string{"nothing would ever be delivered; published are entity.note, invoices"}},
		{"a misspelt topic", about("[entity.nite]"), []string{`did you mean "entity.note"? published are entity.note, invoices`}},

		{"no time at all", more("timeout: 0s"), []string{"timeout: expected a time span"}},
		{"too long a time", more("timeout: 61s"), []string{"timeout: expected a time span"}},
		{"another order", more("order: topic"), []string{`order: "topic" is not accepted; write row`}},
		{"none in flight", more("maxinflight: 0"), []string{"maxinflight: expected a whole number from 1 to 256"}},
		{"too many in flight", more("maxinflight: 257"), []string{"maxinflight: expected a whole number from 1 to 256"}},

		{"a header with a blank", more(`headers: {"a b": x}`), []string{"not the name of a header"}},
		{"a value with a line break", more(`headers: {a: "x\r\nHost: b"}`), []string{"not the value of a header"}},
		{"a value that ends in a blank", more(`headers: {a: "x "}`), []string{"not the value of a header"}},
		{"a value that is a list", more(`headers: {a: [x]}`), []string{"a: expected text"}},
		{"a header twice", more(`headers: {x-a: x, X-A: y}`), []string{"the header X-A is given twice"}},
		{"headers of rowcast's own and the connection's", more("headers: {host: a, CONTENT-TYPE: a, Content-Length: a, connection: a, te: a, Transfer-Encoding: a, X-Kisai-Any: a, webhook-id: a}"), []string{
			"the header Host is set", "the header Content-Type is set", "the header Content-Length is set", "the header Connection is set",
			"the header Te is set", "the header Transfer-Encoding is set", "the header X-Kisai-Any is set", "the header Webhook-Id is set",
		}},

		{"a ca that is not there", more("ca: nowhere.pem"), []string{"ca cannot be read: no such file"}},
		{"a ca without a certificate", more("ca: empty.pem"), []string{"ca cannot be used: it holds no certificate"}},
		{"a ca with a broken certificate", more("ca: broken.pem"), []string{"ca cannot be used: it holds a certificate that cannot be read"}},
		{"a ca without TLS", target(`url: "http://127.0.0.1:9", secret: "a-secret-of-16-b", ca: empty.pem, ` + topics), []string{"ca goes with https"}},

		{"as without an id", as("{}"), []string{"id is missing; name as whom the target reads"}},
		{"as with an empty id", as(`{id: ""}`), []string{"the id is not usable: it is empty"}},
		{"as with roles that are no texts", as("{id: a, roles: [1]}"), []string{"expected text"}},
		{"as with one role, no list", as("{id: a, roles: billing}"), []string{"roles: "}},
		{"as with claims that are a list", as("{id: a, claims: [b]}"), []string{"claims: expected a mapping"}},
		{"a misspelt key of as", as("{id: a, role: [b]}"), []string{`unknown key "role" in as; did you mean "roles"?`}},
		{"as who may not read", as("{id: a}"), []string{"as may not read entity invoice of tenant t1, which publishes to invoices"}},
		{"as whose claims do not do", as("{id: a, roles: [billing], claims: {level: 4}}"), []string{"as may not read entity invoice of tenant t1"}},
		{"as whom the access script cannot judge", as("{id: a, roles: [billing], claims: {level: [3]}}"), []string{"as may not read entity invoice of tenant t1"}},

		{"an unknown key of the scheduler", with("scheduler: {outbx: {}}"), []string{`unknown key "outbx" in scheduler; did you mean "outbox"?`}},
		{"an unknown key of its slot", with("scheduler: {outbox: {evry: 1s}}"), []string{`unknown key "evry" in scheduler.outbox; did you mean "every"?`}},
		{"a slot without end", with("scheduler: {outbox: {every: 0s}}"), []string{"every: expected a time span"}},
	})
}

// A tenant that does not publish a topic is no reason to refuse, as long as one does.
func TestATopicOfOneTenantIsEnough(t *testing.T) {
	two := target(shared+", topics: [invoices]") + "  t2:\n    schema: other.yaml\n    datastores: {main: {driver: sqlite, path: data/t2.db}}\n"
	dir := folder(t, map[string]string{"rowcast.yaml": two, "schema.yaml": told, "other.yaml": noteSchema})
	if _, refusals := load(dir, nil); len(refusals) > 0 {
		t.Error(refusals)
	}
}

// A schema that is refused says nothing of what it publishes.
func TestARefusedSchemaIsNotHeldAgainstATarget(t *testing.T) {
	dir := folder(t, map[string]string{"rowcast.yaml": target(shared + ", topics: [invoices]"), "schema.yaml": "entities: 1\n"})
	if _, refusals := load(dir, nil); len(refusals) != 1 {
		t.Error(refusals)
	}
}

func TestWhatATargetIsWarnedOf(t *testing.T) {
	for name, c := range map[string]struct{ keys, want string }{
		"a short secret": {`url: "https://a.example", secret: "short-secret"`, "the secret has fewer than 16 bytes"},
		"no TLS":         {`url: "http://a.example", secret: "a-secret-of-16-b"`, "deliveries travel without TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"rowcast.yaml": target(c.keys + ", topics: [invoices]"), "schema.yaml": told})
			doc, refusals := load(dir, nil)
			if len(refusals) > 0 {
				t.Fatal(refusals)
			}
			if got := lines(t, dir, doc.Warnings); !strings.Contains(got, c.want) || strings.Contains(got, "short-secret") {
				t.Errorf("got %q", got)
			}
		})
	}
}

// What is secret about a target is shown by no refusal: its secrets, its
// headers, and a URL that may hold a credential.
func TestNoRefusalShowsWhatATargetKeepsSecret(t *testing.T) {
	for _, keys := range []string{
		`url: "sesame://a", secret: "sesame-1", topics: [a]`,
		`url: "https://u:sesame@a", secret: [x, "whsec_sesame-"], topics: [a]`,
		`url: "https://sesame:x", secret: {sesame: 1}, topics: [a]`,
		`url: "https://${SESAME}:x", secret: "whsec_${SESAME}", headers: {a: "${SESAME}\n"}`,
		`headers: {Authorization: "sesame ", host: sesame, b: [sesame]}, secret: 1`,
		"headers: {Authorization: {c: sesame}}\n",
	} {
		dir := folder(t, map[string]string{"rowcast.yaml": target(keys), "schema.yaml": told})
		_, refusals := load(dir, map[string]string{"SESAME": "sesame"})
		got := lines(t, dir, refusals)
		if len(refusals) == 0 || strings.Contains(got, "sesame") {
			t.Errorf("%s:\n%s", keys, got)
		}
	}
}
