package boot_test

import (
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rowcast/rowcast/internal/auth"
	"github.com/rowcast/rowcast/internal/boot"
	"github.com/rowcast/rowcast/internal/document"
)

var update = flag.Bool("update", false, "rewrite golden files")

const noteSchema = `entities:
  - name: note
    fields:
      - {name: id, type: ulid}
      - {name: title, type: string}
`

const secret = "0123456789abcdef0123456789abcdef"

// valid is the least document, with places to put more.
const valid = `auth:
  jwt: [{secret: "0123456789abcdef0123456789abcdef"}]
tenants:
  t1:
    schema: schema.yaml
    datastores:
      main: {driver: sqlite, path: data/t1.db}
`

// folder writes files and returns the folder; rowcast.yaml is the document.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if _, ok := files["schema.yaml"]; !ok {
		write(t, filepath.Join(dir, "schema.yaml"), noteSchema)
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func load(dir string, env map[string]string) (*boot.Document, document.Refusals) {
	return boot.Load(filepath.Join(dir, "rowcast.yaml"), func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	})
}

// mustLoad loads a document that nothing is wrong with.
func mustLoad(t *testing.T, text string, env map[string]string) *boot.Document {
	t.Helper()
	doc, refusals := load(folder(t, map[string]string{"rowcast.yaml": text}), env)
	if len(refusals) > 0 {
		t.Fatalf("refused:\n%v", refusals)
	}
	return doc
}

// lines prints refusals as check does, with the folder cut off.
func lines(t *testing.T, dir string, refusals document.Refusals) string {
	t.Helper()
	var b strings.Builder
	if err := refusals.Print(&b); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), dir+string(filepath.Separator), "")
}

func TestLeastDocumentHasTheDocumentedDefaults(t *testing.T) {
	doc := mustLoad(t, valid, nil)
	if doc.Listen != "127.0.0.1:8080" || doc.Dev || doc.Log != (boot.Log{Level: slog.LevelInfo, Format: "text"}) {
		t.Errorf("listen %q, dev %v, log %v", doc.Listen, doc.Dev, doc.Log)
	}
	wantLimits := boot.Limits{Body: 1 << 20, Rows: 10_000, Query: 5 * time.Second, StreamsPerPrincipal: 100, Streams: 50_000}
	if diff := cmp.Diff(wantLimits, doc.Limits); diff != "" {
		t.Error(diff)
	}
	if len(doc.Events.Targets) != 0 || doc.Scheduler.Outbox.Every != 10*time.Second {
		t.Errorf("targets %v, scheduler %v", doc.Events.Targets, doc.Scheduler)
	}
	if doc.Events.Retention != 24*time.Hour || doc.Admin != (boot.Admin{Role: "admin"}) || len(doc.CORS.Origins) != 0 {
		t.Errorf("events %v, admin %v, cors %v", doc.Events, doc.Admin, doc.CORS)
	}
	wantAuth := auth.Config{JWT: []auth.Source{{Secret: []byte(secret)}}, Cookie: "rowcast_session", Tenants: []string{"t1"}}
	if diff := cmp.Diff(wantAuth, doc.Auth); diff != "" {
		t.Error(diff)
	}
	if len(doc.Warnings) != 0 {
		t.Errorf("warnings: %v", doc.Warnings)
	}
}

const everything = `listen: "localhost:0"
tls: {cert: "", key: ""}
dev: true
log: {level: debug, format: json}
auth:
  jwt:
    - {alg: HS512, secret: "${JWT_SECRET}", issuer: me, audience: shop}
    - {jwks: "https://id.example/keys"}
  keys: [{id: svc-billing, key: "${BILLING_KEY}", roles: [billing], tenant: "acme:test:shop:t2"}]
  cookie: shop_session
  anonymous: {roles: [public], tenant: "acme:test:shop:t1"}
tenants:
  "acme:test:shop:t1":
    schema: ./schema
    datastores:
      main: {driver: sqlite, path: ./data/t1.db}
  "acme:test:shop:t2":
    schema: ./schema
    datastores:
      main: {driver: sqlite, path: "./data/$${x}.db"}
      spare: {driver: sqlite, path: ./data/spare.db}
events:
  retention: 90m
scheduler: {outbox: {every: 30s}}
limits: {body: 64KiB, rows: 5, query: 100ms, streamsperprincipal: 7, streams: "${STREAMS}"}
cors: {origins: ["https://app.example", "http://localhost:5173"]}
admin: {role: operator, listen: "127.0.0.1:9090"}
`

func TestEveryKeyIsRead(t *testing.T) {
	dir := folder(t, map[string]string{"rowcast.yaml": everything, "schema/note.yaml": noteSchema})
	doc, refusals := load(dir, map[string]string{"JWT_SECRET": secret, "BILLING_KEY": "billing-key-0123", "STREAMS": "8"})
	if len(refusals) > 0 {
		t.Fatalf("refused:\n%v", refusals)
	}
	want := &boot.Document{
		File: filepath.Join(dir, "rowcast.yaml"), Listen: "localhost:0", Dev: true,
		Log: boot.Log{Level: slog.LevelDebug, Format: "json"},
		Auth: auth.Config{
			JWT:       []auth.Source{{Secret: []byte(secret), Alg: "HS512", Issuer: "me", Audience: "shop"}, {JWKS: "https://id.example/keys"}},
			Keys:      []auth.Key{{ID: "svc-billing", Secret: "billing-key-0123", Roles: []string{"billing"}, Tenant: "acme:test:shop:t2"}},
			Cookie:    "shop_session",
			Anonymous: &auth.Anonymous{Roles: []string{"public"}, Tenant: "acme:test:shop:t1"},
			Tenants:   []string{"acme:test:shop:t1", "acme:test:shop:t2"},
		},
		Events: boot.Events{Retention: 90 * time.Minute}, Scheduler: boot.Scheduler{Outbox: boot.Outbox{Every: 30 * time.Second}},
		Limits: boot.Limits{Body: 64 << 10, Rows: 5, Query: 100 * time.Millisecond, StreamsPerPrincipal: 7, Streams: 8},
		CORS:   boot.CORS{Origins: []string{"https://app.example", "http://localhost:5173"}},
		Admin:  boot.Admin{Role: "operator", Listen: "127.0.0.1:9090"},
	}
	tenants, warnings := doc.Tenants, doc.Warnings
	doc.Tenants, doc.Warnings = nil, nil
	if diff := cmp.Diff(want, doc); diff != "" {
		t.Error(diff)
	}
	if tenants[0].Model == nil || tenants[0].Model != tenants[1].Model || tenants[0].Policies["note"] == nil {
		t.Error("the schema is not compiled, or not shared")
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tenants[1].Datastores["main"].Path, filepath.Join(resolved, "data", "${x}.db"); got != want {
		t.Errorf("path is %q, want %q", got, want)
	}
	if got := lines(t, dir, warnings); !strings.HasPrefix(got, "rowcast.yaml:21:37: no entity of tenant acme:test:shop:t2 lives in datastore spare") {
		t.Errorf("warnings:\n%s", got)
	}
}

func TestAMissingDocumentIsRefusedByName(t *testing.T) {
	dir := t.TempDir()
	_, refusals := load(dir, nil)
	if got := lines(t, dir, refusals); !strings.HasPrefix(got, "rowcast.yaml:1:1: the boot document cannot be read: no such file") {
		t.Error(got)
	}
}

func TestTheExampleServes(t *testing.T) {
	doc, refusals := boot.Load("../../examples/shop/rowcast.yaml", os.LookupEnv)
	if len(refusals) > 0 {
		t.Fatalf("refused:\n%v", refusals)
	}
	if len(doc.Warnings) > 0 {
		t.Errorf("warnings:\n%v", doc.Warnings)
	}
}

// Everything wrong with all files is said in one run.
func TestAllRefusalsOfAllFilesTogether(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"rowcast.yaml", "schema/a.yaml", "schema/b.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", "together", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	dir := folder(t, files)
	doc, refusals := load(dir, map[string]string{"EMPTY": ""})
	if doc != nil {
		t.Error("a refused document was handed out")
	}
	got := lines(t, dir, refusals)
	golden := filepath.Join("testdata", "together", "refusals.golden")
	if *update {
		write(t, golden, got)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(valid)
	f.Add(everything)
	f.Add(deliveries)
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "schema.yaml"), []byte(noteSchema), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		write(t, filepath.Join(dir, "rowcast.yaml"), text)
		doc, refusals := load(dir, map[string]string{"JWT_SECRET": secret})
		if (doc == nil) == (len(refusals) == 0) {
			t.Errorf("document %v, refusals %v", doc, refusals)
		}
		if doc == nil {
			return
		}
		for _, target := range doc.Events.Targets {
			if target.URL == "" || len(target.Secrets) == 0 || len(target.Topics) == 0 || target.Timeout <= 0 || target.MaxInFlight < 1 {
				t.Errorf("loaded, but target %s cannot work: %+v", target.Name, target)
			}
		}
		if _, err := auth.New(doc.Auth); err != nil {
			t.Errorf("loaded, but auth refuses: %v", err)
		}
	})
}
