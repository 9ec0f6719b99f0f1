package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/auth"
	"github.com/rowcast/rowcast/internal/boot"
)

func TestTokenIsOneTheServerAccepts(t *testing.T) {
	got := run(t, "token", "--config", shop, "--sub", "bob", "--roles", "staff,admin", "--ttl", "8h")
	if got.status != 0 || got.stderr != "" {
		t.Fatalf("got %+v", got)
	}
	doc, refusals := boot.Load(shop, os.LookupEnv)
	if len(refusals) > 0 {
		t.Fatal(refusals)
	}
	a, err := auth.New(doc.Auth)
	if err != nil {
		t.Fatal(err)
	}
	p, err := a.Verify(t.Context(), strings.TrimSuffix(got.stdout, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(p.Expires); left < 7*time.Hour || left > 8*time.Hour {
		t.Errorf("good for %v", left)
	}
	if p.ID != "bob" || strings.Join(p.Roles, ",") != "staff,admin" || p.Tenant != "acme:test:shop:t1" {
		t.Errorf("got %+v", p)
	}
}

func TestTokenRefuses(t *testing.T) {
	keySet := filepath.Join(t.TempDir(), "rowcast.yaml")
	write(t, keySet, "auth: {jwt: [{jwks: \"https://id.example/keys\"}]}\ntenants:\n  t1:\n    schema: schema.yaml\n    datastores: {main: {driver: sqlite, path: t1.db}}\n")
	write(t, filepath.Join(filepath.Dir(keySet), "schema.yaml"), "entities:\n  - name: note\n    fields:\n      - {name: id, type: ulid}\n")
	for name, c := range map[string]struct{ args, want string }{
		"a tenant that is not there": {"--config " + shop + " --sub a --tenant t9", "name one of acme:test:shop:t1"},
		"no time at all":             {"--config " + shop + " --sub a --ttl 0s", "--ttl"},
		"where there is no secret":   {"--config " + keySet + " --sub a", "no secret to sign with"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, append([]string{"token"}, strings.Fields(c.args)...)...)
			if got.status != 1 || got.stdout != "" || !strings.Contains(got.stderr, c.want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
