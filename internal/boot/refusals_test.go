package boot_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// with puts lines before the least document.
func with(text string) string { return text + "\n" + valid }

// instead replaces a part of the least document.
func instead(part, other string) string {
	if !strings.Contains(valid, part) {
		panic("not in the least document: " + part)
	}
	return strings.Replace(valid, part, other, 1)
}

// onPostgres puts the least document's datastore on PostgreSQL.
func onPostgres(keys string) string {
	return instead("{driver: sqlite, path: data/t1.db}", "{driver: postgres, "+keys+"}")
}

const jwtLine = `jwt: [{secret: "0123456789abcdef0123456789abcdef"}]`

// refusal is a document, and why it is refused.
type refusal struct {
	name, document string
	want           []string // of each line in order: its place (in rowcast.yaml; it may be left out), and a part of its message
}

// placed is what begins with a place.
var placed = regexp.MustCompile(`^(schema\.yaml:)?[0-9]+:[0-9]+: `)

// refuses holds each document, beside further files, to its refusals.
func refuses(t *testing.T, files map[string]string, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all := maps.Clone(files)
			if all == nil {
				all = map[string]string{}
			}
			all["rowcast.yaml"] = c.document
			dir := folder(t, all)
			doc, refusals := load(dir, map[string]string{"EMPTY": ""})
			if doc != nil {
				t.Error("accepted")
			}
			if len(refusals) != len(c.want) {
				t.Fatalf("%d refusals, want %d:\n%s", len(refusals), len(c.want), lines(t, dir, refusals))
			}
			for i, want := range c.want {
				place, text, _ := strings.Cut(want, ": ")
				switch {
				case !placed.MatchString(want):
					place, text = "rowcast.yaml:", want
				case !strings.HasPrefix(want, "schema.yaml:"):
					place = "rowcast.yaml:" + place + ": "
				}
				if got := lines(t, dir, refusals[i:i+1]); !strings.HasPrefix(got, place) || !strings.Contains(got, text) {
					t.Errorf("got %s want %s", got, want)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	second := valid + "  t2:\n    schema: schema.yaml\n    datastores: {main: {driver: sqlite, path: data/t2.db}}\n"
	refuses(t, nil, []refusal{
		{"empty", "", []string{"1:1: tenants is missing", "1:1: auth is missing"}},
		{"no mapping", "[a]", []string{"1:1: the boot document must be a mapping"}},
		{"unknown key", with("lisen: a"), []string{`1:1: unknown key "lisen" in the boot document; did you mean "listen"?`}},
		{"realtime: true", with("realtime: true"), []string{"1:11: realtime is neither a mapping nor false"}},
		{"realtime: false", with("realtime: false"), []string{"1:11: realtime: false turns nothing off that an entity turns on"}},
		{"realtime empty", with("realtime:"), []string{"1:1: realtime is neither a mapping nor false"}},
		{"events of realtime empty", with("realtime: {events: }"), []string{"1:12: events: events of realtime must be a mapping"}},
		{"event as a number", with("realtime: {events: {created: 1}}"), []string{"1:30: created: expected true or false"}},
		{"event misspelt", with("realtime: {events: {creatd: true}}"), []string{`1:21: unknown key "creatd" in events of realtime; did you mean "created"?`}},
		{"left as a default", with("realtime: {events: {left: true}}"), []string{"1:21: left is no event to turn on or off"}},
		{"fields of an entity as defaults", with("realtime: {subscribablefields: [id], filterable: true}"), []string{"1:12: subscribablefields names fields of one entity", "1:38: filterable speaks of the fields of one entity"}},
		{"realtime of another library", with("realtime: {enabled: true, onpublisherror: x}"), []string{"1:12: enabled is no key of realtime", "1:27: onpublisherror is a function and belongs to the Go API"}},
		{"key given twice", with("dev: false\ndev: true"), []string{`2:1: key "dev" given twice`}},

		{"listen without a port", with("listen: localhost"), []string{"1:9: not an address"}},
		{"listen on port 70000", with("listen: localhost:70000"), []string{"1:9: not an address"}},
		{"listen on a named port", with("listen: localhost:http"), []string{"1:9: not an address"}},
		{"dev on all interfaces", with("listen: \":8080\"\ndev: true"), []string{"2:6: dev: true hands out tokens"}},
		{"dev on an outer address", with("listen: 192.0.2.1:80\ndev: true"), []string{"2:6: dev: true hands out tokens"}},
		{"dev on a name", with("listen: example.com:80\ndev: true"), []string{"2:6: dev: true hands out tokens"}},
		{"dev is a text", with(`dev: "true"`), []string{"1:6: expected true or false"}},
		{"half of tls", with("tls: {cert: a.pem}"), []string{"1:6: tls needs both cert and key"}},
		{"tls files that are not there", with("tls: {cert: a.pem, key: b.pem}"), []string{"1:6: the certificate and its key cannot be used"}},
		{"log level", with("log: {level: loud}"), []string{`1:14: write one of debug, info, warn, error`}},
		{"log format", with("log: {format: xml}"), []string{`1:15: write one of text, json`}},

		{"nobody gets in", instead(jwtLine, "jwt: []"), []string{"2:3: auth lets nobody in"}},
		{"short secret", instead(secret, secret[1:]), []string{"2:18: the secret has 31 bytes and needs at least 32"}},
		{"no key source", instead(jwtLine, "jwt: [{alg: HS256}]"), []string{"2:9: a source of keys needs exactly one of"}},
		{"two key sources", instead(jwtLine, `jwt: [{secret: "0123456789abcdef0123456789abcdef", jwks: "https://id.example"}]`), []string{"2:9: a source of keys needs exactly one of"}},
		{"none", instead("secret:", "alg: none, secret:"), []string{`2:15: algorithm "none" does not go with this source`}},
		{"algorithm of another family", instead("secret:", "alg: RS256, secret:"), []string{`2:15: algorithm "RS256" does not go with this source`}},
		{"HS256 with a key set", instead(jwtLine, `jwt: [{alg: HS256, jwks: "https://id.example"}]`), []string{`2:15: algorithm "HS256" does not go with this source`}},
		{"a key set that is no URL", instead(jwtLine, `jwt: [{jwks: "id.example"}]`), []string{"2:16: jwks is not an http or https URL"}},
		{"key file that is not there", instead(jwtLine, `jwt: [{publickey: id.pem}]`), []string{"2:21: the public key cannot be used: no such file"}},
		{"key file that is none", instead(jwtLine, `jwt: [{publickey: schema.yaml}]`), []string{"2:21: the public key cannot be used: neither PEM nor a JSON Web Key"}},
		{"unknown key of a source", instead("secret:", "kid: a, secret:"), []string{`2:10: unknown key "kid"`}},
		{"key without an id", instead(jwtLine, `keys: [{key: "0123456789abcdef"}]`), []string{"2:10: id is missing"}},
		{"key without a key", instead(jwtLine, `keys: [{id: a}]`), []string{"2:10: key is missing"}},
		{"two keys of one id", instead(jwtLine, "keys:\n    - {id: a, key: \"0123456789abcdef\"}\n    - {id: a, key: \"0123456789abcdeg\"}"), []string{"4:12: another key has that id"}},
		{"two ids of one key", instead(jwtLine, "keys:\n    - {id: a, key: \"0123456789abcdef\"}\n    - {id: b, key: \"0123456789abcdef\"}"), []string{"4:20: another entry has that very key"}},
		{"key that no header carries", instead(jwtLine, `keys: [{id: a, key: "0123456789 abcdef"}]`), []string{"2:23: the key is not usable: it holds characters"}},
		{"key of an unknown tenant", instead(jwtLine, `keys: [{id: a, key: "0123456789abcdef", tenant: t2}]`), []string{"2:51: no tenant has that name"}},
		{"key without a tenant, of several", strings.Replace(second, jwtLine, `keys: [{id: a, key: "0123456789abcdef"}]`, 1), []string{"2:10: tenant is missing, and there are several; name one of t1, t2"}},
		{"anonymous without a tenant, of several", strings.Replace(second, jwtLine, `anonymous: {roles: [x]}`, 1), []string{"2:14: tenant is missing, and there are several"}},
		{"anonymous of an unknown tenant", instead(jwtLine, `anonymous: {tenant: t2}`), []string{"2:23: no tenant has that name"}},
		{"an empty role", instead(jwtLine, `anonymous: {roles: [""]}`), []string{"2:23: a role is empty"}},
		{"cookie with a space", instead(jwtLine, jwtLine+"\n  cookie: \"a b\""), []string{"3:11: not a cookie's name"}},

		{"no tenants", "auth: {anonymous: {}}\ntenants: {}", []string{"2:10: no tenant is declared"}},
		{"tenant with a slash", instead("  t1:", `  "a/b":`), []string{"4:3: not a tenant's name"}},
		{"tenant with an empty part", instead("  t1:", `  "a::b":`), []string{"4:3: not a tenant's name"}},
		{"tenant without a schema", instead("    schema: schema.yaml\n", ""), []string{"5:5: schema is missing"}},
		{"schema that is not there", instead("schema.yaml", "nowhere"), []string{"5:13: the schema cannot be read: no such file"}},
		{"tenant without datastores", instead("    datastores:\n      main: {driver: sqlite, path: data/t1.db}\n", ""), []string{"5:5: datastores is missing"}},
		{"no datastore", instead("    datastores:\n      main: {driver: sqlite, path: data/t1.db}\n", "    datastores: {}\n"), []string{"6:17: no datastore is declared"}},
		{"datastore's name", instead("      main:", "      Main:"), []string{"7:7: not a datastore's name", "schema.yaml:2:5: entity note lives in datastore \"main\""}},
		{"entity of another datastore", instead("      main:", "      store:"), []string{"schema.yaml:2:5: entity note lives in datastore \"main\", which tenant t1 does not declare"}},
		{"postgres without a url", onPostgres(`namespace: t1`), []string{"7:13: url is missing"}},
		{"postgres without a namespace", onPostgres(`url: "postgres://localhost/x"`), []string{"7:13: namespace is missing"}},
		{"postgres with a path", onPostgres(`url: "postgres://localhost/x", namespace: t1, path: x`), []string{"7:78: path goes with driver sqlite"}},
		{"a url of another database", onPostgres(`url: "mysql://localhost/x", namespace: t1`), []string{"7:37: not the URL of a PostgreSQL database"}},
		{"a url that cannot be read", onPostgres(`url: "postgres://u:p@localhost:x/x", namespace: t1`), []string{"7:37: the URL of the database cannot be read"}},
		{"a namespace of PostgreSQL's own", onPostgres(`url: "postgres://localhost/x", namespace: pg_shop`), []string{"7:74: not a namespace"}},
		{"too few connections", onPostgres(`url: "postgres://localhost/x", namespace: t1, maxconns: 1`), []string{"7:88: expected a whole number"}},
		{"two datastores of one namespace", onPostgres(`url: "postgres://u:p@localhost/x", namespace: t1`) +
			"  t2:\n    schema: schema.yaml\n    datastores: {main: {driver: postgres, url: \"postgres://v:q@LOCALHOST:5432/x\", namespace: t1}}\n",
			[]string{"10:94: the namespace is that of the datastore in line 7 (tenant t1)"}},
		{"two pools of one url", onPostgres(`url: "postgres://u:p@localhost/x", namespace: t1`) +
			"  t2:\n    schema: schema.yaml\n    datastores: {main: {driver: postgres, url: \"postgres://u:p@localhost/x\", namespace: t2, maxconns: 5}}\n",
			[]string{"10:89: the datastore in line 7 (tenant t1) has the same url"}},
		{"unknown driver", instead("driver: sqlite", "driver: mysql"), []string{`7:22: driver: "mysql"`}},
		{"sqlite with a url", instead("path: data/t1.db", "path: data/t1.db, url: x"), []string{"7:48: url goes with driver postgres"}},
		{"no path", instead(", path: data/t1.db", ""), []string{"7:13: path is missing"}},
		{"path is a folder", instead("data/t1.db", "."), []string{"7:36: the path is a folder"}},
		{"in memory", instead("data/t1.db", `":memory:"`), []string{"7:36: the path names no file"}},

		{"retention without a unit", with("events: {retention: 24}"), []string{"1:21: expected a time span"}},
		{"retention of nothing", with("events: {retention: 0s}"), []string{"1:21: expected a time span"}},
		{"body of nothing", with("limits: {body: 0}"), []string{"1:16: expected a size"}},
		{"rows below one", with("limits: {rows: 0}"), []string{"1:16: expected a whole number"}},
		{"query below zero", with("limits: {query: -5s}"), []string{"1:17: expected a time span"}},
		{"streams below one", with("limits: {streams: -1, streamsperprincipal: 0}"), []string{"1:19: expected a whole number", "1:44: expected a whole number"}},
		{"any origin, with a cookie", with(`cors: {origins: ["*"]}`), []string{`1:18: origins: ["*"] would let any page act`}},
		{"origin with a path", with(`cors: {origins: ["https://a.example/x"]}`), []string{"1:18: not an origin"}},
		{"origin without a scheme", with(`cors: {origins: ["a.example"]}`), []string{"1:18: not an origin"}},
		{"no admin role", with(`admin: {role: ""}`), []string{"1:15: admin.role is empty"}},
		{"admin on the common address", with("listen: localhost:80\nadmin: {listen: \"localhost:80\"}"), []string{"2:17: admin.listen is the common address"}},

		{"not in the environment", with(`listen: "${NOWHERE}"`), []string{"1:9: the environment has no NOWHERE"}},
		{"empty in the environment", with(`listen: "${EMPTY}"`), []string{"1:9: EMPTY is empty in the environment"}},
		{"an unclosed reference", with(`listen: "${NOWHERE"`), []string{"1:9: ${ does not begin ${NAME}"}},
		{"a reference to no name", with(`listen: "${a b}"`), []string{"1:9: ${ does not begin ${NAME}"}},
		{"a secret that is not set is one refusal", instead(secret, "${NOWHERE}"), []string{"2:18: the environment has no NOWHERE"}},
	})
}

func TestNoRefusalShowsASecret(t *testing.T) {
	document := strings.Replace(valid, jwtLine, `jwt: [{secret: "sesame"}, {secret: "${SHORT}"}]
  keys: [{id: a, key: "sesame open"}, {id: b, key: "${SPACED}"}]`, 1)
	dir := folder(t, map[string]string{"rowcast.yaml": document})
	_, refusals := load(dir, map[string]string{"SHORT": "sesame", "SPACED": "sesame 2"})
	if len(refusals) != 4 {
		t.Errorf("%d refusals:\n%s", len(refusals), lines(t, dir, refusals))
	}
	if got := lines(t, dir, refusals); strings.Contains(got, "sesame") {
		t.Errorf("a secret is shown:\n%s", got)
	}
}

func TestTwoDatastoresOnOneFileHoweverSpelt(t *testing.T) {
	two := func(path string) string {
		return valid + "  t2:\n    schema: schema.yaml\n    datastores: {main: {driver: sqlite, path: " + path + "}}\n"
	}
	cases := map[string]struct {
		path    string
		prepare func(t *testing.T, dir string) error
	}{
		"the same":           {"data/t1.db", nil},
		"through the parent": {"data/../data/t1.db", nil},
		"link to the file":   {"link.db", func(_ *testing.T, dir string) error { return os.Symlink("data/t1.db", filepath.Join(dir, "link.db")) }},
		"link to the folder": {"link/t1.db", func(_ *testing.T, dir string) error { return os.Symlink("data", filepath.Join(dir, "link")) }},
		"link to a link": {"l2.db", func(_ *testing.T, dir string) error {
			if err := os.Symlink("l1.db", filepath.Join(dir, "l2.db")); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(dir, "data", "t1.db"), filepath.Join(dir, "l1.db"))
		}},
		"hard link": {"hard.db", func(t *testing.T, dir string) error {
			write(t, filepath.Join(dir, "data", "t1.db"), "")
			return os.Link(filepath.Join(dir, "data", "t1.db"), filepath.Join(dir, "hard.db"))
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"rowcast.yaml": two(c.path)})
			if c.prepare != nil {
				if err := c.prepare(t, dir); err != nil {
					t.Fatal(err)
				}
			}
			_, refusals := load(dir, nil)
			if got := lines(t, dir, refusals); !strings.HasPrefix(got, "rowcast.yaml:10:47: the file is that of the datastore in line 7 (tenant t1)") {
				t.Errorf("got %q", got)
			}
		})
	}
	t.Run("a link without end is refused", func(t *testing.T) {
		dir := folder(t, map[string]string{"rowcast.yaml": two("loop.db")})
		if err := os.Symlink("loop.db", filepath.Join(dir, "loop.db")); err != nil {
			t.Fatal(err)
		}
		if _, refusals := load(dir, nil); len(refusals) != 1 {
			t.Errorf("refusals: %v", refusals)
		}
	})
	t.Run("two files are fine", func(t *testing.T) {
		if _, refusals := load(folder(t, map[string]string{"rowcast.yaml": two("data/t2.db")}), nil); len(refusals) > 0 {
			t.Error(refusals)
		}
	})
}

func TestWarnings(t *testing.T) {
	cases := map[string]struct{ document, want string }{
		"a key set without TLS": {instead(jwtLine, `jwt: [{jwks: "http://id.example/keys"}]`), "rowcast.yaml:2:16: the key set travels without TLS"},
		"a short API key":       {instead(jwtLine, `keys: [{id: a, key: "short"}]`), "rowcast.yaml:2:23: the key has fewer than 16 bytes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"rowcast.yaml": c.document})
			doc, refusals := load(dir, nil)
			if len(refusals) > 0 {
				t.Fatal(refusals)
			}
			if got := lines(t, dir, doc.Warnings); !strings.HasPrefix(got, c.want) || strings.Contains(got, "short\"") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestWhatLooksOddAndIsFine(t *testing.T) {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	for name, document := range map[string]string{
		"any origin without a cookie":  strings.Replace(with(`cors: {origins: ["*"]}`), jwtLine, jwtLine+"\n  cookie: \"\"", 1),
		"dev on the IPv6 loopback":     with("listen: \"[::1]:0\"\ndev: true"),
		"anonymous alone":              instead(jwtLine, "anonymous: {}"),
		"a dollar that is just itself": instead("data/t1.db", `"data/$t1$.db"`),
		"a key file":                   instead(jwtLine, "jwt: [{publickey: id.pem}]"),
		"PostgreSQL":                   onPostgres(`url: "postgres://u:p@localhost/x", listenurl: "postgres://u:p@localhost:6432/x", namespace: t1, maxconns: 20`),
		"key set on loopback":          instead(jwtLine, `jwt: [{jwks: "http://127.0.0.1:9/keys"}]`),
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{
				"rowcast.yaml": document,
				"id.pem":       string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
			})
			doc, refusals := load(dir, nil)
			if len(refusals) > 0 || len(doc.Warnings) > 0 {
				t.Errorf("refusals %v, warnings %v", refusals, doc)
			}
		})
	}
}
