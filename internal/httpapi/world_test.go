package httpapi_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/httpapi"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqlite"
	"github.com/rowcast/rowcast/schema"
)

// shop is the schema of these tests: item has row rules, soft delete and a
// field nobody but staff reads; ticket numbers its rows; drop is a box that
// most may only write to; far is kept in another datastore.
const shop = `
entities:
  - name: item
    inherits: [softdelete]
    fields:
      - {name: id, type: string}
      - {name: title, type: string, validations: [{type: required}, {type: maxlength, value: 80}]}
      - {name: total, type: int}
      - {name: owner_id, type: string, defaultvalue: user.id}
      - {name: hidden, type: string}
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? ["create","read","update","delete","restore","purge"] : ["create","read","update","delete","restore"]'}
      read: {language: expr, expression: '["id","title","total","owner_id"]'}
    rowrules:
      - {name: own, actions: [read, update, delete], language: expr, expression: row.owner_id == user.id}
      - {name: staff, actions: [read, update, delete], language: expr, expression: '"staff" in user.roles'}
    operations:
      - {name: finish, kind: write, cardinality: one, set: {title: done, hidden: finished}}
      - {name: raise, kind: write, cardinality: one, set: {total: {language: expr, expression: payload.total + 1}}}
      - {name: give, kind: write, cardinality: one, set: {owner_id: bob}}
  - name: ticket
    fields:
      - {name: id, type: int}
      - {name: title, type: string}
  - name: drop
    fields:
      - {name: id, type: int}
      - {name: title, type: string}
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? ["create","read","update"] : ["create","update"]'}
    operations:
      - {name: stamp, kind: write, cardinality: one, set: {title: stamped}}
      - {name: burn, kind: write, cardinality: one, action: delete, set: {title: ash}}
  - name: far
    datastore: other
    fields:
      - {name: id, type: ulid}
`

// served is an API over real engines on SQLite files.
type served struct {
	*httptest.Server
	store store.Store
}

func world(t *testing.T, c httpapi.Config) served {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "shop.yaml"), []byte(shop), 0o600); err != nil {
		t.Fatal(err)
	}
	model, refusals := schema.Load(folder)
	if len(refusals) > 0 {
		t.Fatal(refusals)
	}
	main, mainStore := open(t, model, "main")
	other, _ := open(t, model, "other")
	c.Tenants = units{
		tenant + " item": main, tenant + " ticket": main, tenant + " drop": main, tenant + " far": other,
	}
	return served{serve(t, c), mainStore}
}

func open(t *testing.T, model *schema.Model, datastore string) (*engine.Engine, store.Store) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), datastore+".db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a test may have closed it already
	policies := map[string]*access.Policy{}
	var plan store.Plan
	for _, e := range model.Entities {
		if e.Datastore != datastore {
			continue
		}
		p, refusals := access.Compile(e)
		if len(refusals) > 0 {
			t.Fatal(refusals)
		}
		policies[e.Name] = p
		plan.Entities = append(plan.Entities, e)
	}
	if _, err := s.Migrate(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{
		Tenant: tenant, Origin: "test", Model: model, Policies: policies, Store: s,
		NewID: func() string { return ulid.Make().String() }, Secret: []byte(strings.Repeat("s", 32)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return e, s
}

// empty fails where the entity has a row.
func (s served) empty(t *testing.T, entity string) {
	t.Helper()
	got := ask{as: "sue", method: "GET", path: "/data/" + entity + "?count=true&fields=id"}.do(t, s.Server)
	got.is(t, 200, `{"items":[],"limit":20,"offset":0,"total":0,"next":null}`)
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(text)
}
