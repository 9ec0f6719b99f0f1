package boot

import (
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/internal/auth"
	"github.com/rowcast/rowcast/internal/document"
)

// defaultCookie is the cookie that POST /session sets.
const defaultCookie = "rowcast_session"

// shortKey is the length in bytes below which an API key is worth a warning.
const shortKey = 16

func (l *loader) readAuth(node *document.Node) {
	l.doc.Auth = auth.Config{Cookie: defaultCookie, Tenants: l.doc.TenantNames()}
	if node == nil {
		return
	}
	m := node.Map(&l.refusals, document.Shape{What: "auth", Keys: []string{"jwt", "keys", "cookie", "anonymous"}})
	for _, item := range m.Get("jwt").List(&l.refusals) {
		l.readSource(item)
	}
	l.readKeys(m.Get("keys").List(&l.refusals))
	l.readCookie(m)
	l.readAnonymous(m.Get("anonymous"))
	if node.Kind() == document.Mapping && len(m.Get("jwt").List(&l.refusals)) == 0 &&
		len(m.Get("keys").List(&l.refusals)) == 0 && !m.Has("anonymous") {
		l.refusals.Add(node.Refusal("auth lets nobody in; add an entry to jwt or keys, or declare anonymous"))
	}
}

func (l *loader) readSource(item *document.Node) {
	before := len(l.refusals)
	m := item.Map(&l.refusals, document.Shape{What: "an entry of auth.jwt", Keys: []string{"alg", "secret", "publickey", "jwks", "issuer", "audience"}})
	s := auth.Source{Alg: m.Text("alg", ""), Issuer: m.Text("issuer", ""), Audience: m.Text("audience", ""), JWKS: m.Text("jwks", "")}
	if m.Has("secret") {
		s.Secret = []byte(m.Text("secret", ""))
	}
	if file := m.Text("publickey", ""); file != "" {
		data, err := os.ReadFile(l.resolve(file))
		if err == nil {
			s.PublicKey, err = auth.ParsePublicKey(data)
		}
		if err != nil {
			l.refusals.Add(m.Get("publickey").Refusal("the public key cannot be used: %s", reason(err)))
		}
	}
	if len(l.refusals) > before {
		return // what follows would only repeat it
	}
	if wrong := (*auth.SourceError)(nil); errors.As(s.Validate(), &wrong) {
		at := m.Get(wrong.Key)
		if at == nil {
			at = item
		}
		l.refusals.Add(at.Refusal("%s", wrong.Message))
		return
	}
	if u, err := url.Parse(s.JWKS); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()+":0") {
		l.doc.Warnings.Add(m.Get("jwks").Refusal("the key set travels without TLS: whoever is on the way can sign tokens; use https"))
	}
	l.doc.Auth.JWT = append(l.doc.Auth.JWT, s)
}

func (l *loader) readKeys(items []*document.Node) {
	ids, secrets := map[string]bool{}, map[string]bool{}
	for _, item := range items {
		m := item.Map(&l.refusals, document.Shape{What: "an entry of auth.keys", Keys: []string{"id", "key", "roles", "tenant"}})
		id, secret := m.Need("id", "name whose key it is"), m.Need("key", `write key: "${NAME}" and set NAME in the environment`)
		k := auth.Key{ID: m.Text("id", ""), Secret: m.Text("key", ""), Roles: l.roles(m), Tenant: m.Text("tenant", "")}
		if id != nil {
			if err := auth.CheckID(k.ID); err != nil {
				l.refusals.Add(id.Refusal("the id of a key is not usable: %s; write a short name", err))
			} else if ids[k.ID] {
				l.refusals.Add(id.Refusal("another key has that id; each needs its own, because it names who wrote a row"))
			}
		}
		if secret != nil {
			l.checkKey(secret, k.Secret, secrets[k.Secret])
		}
		k.Tenant = l.tenantOf(m, item, k.Tenant)
		ids[k.ID], secrets[k.Secret] = true, true
		l.doc.Auth.Keys = append(l.doc.Auth.Keys, k)
	}
}

func (l *loader) checkKey(node *document.Node, secret string, twice bool) {
	switch err := auth.CheckKeySecret(secret); {
	case err != nil:
		l.refusals.Add(node.Refusal("the key is not usable: %s", err))
	case twice:
		l.refusals.Add(node.Refusal("another entry has that very key; make a new one with: openssl rand -hex 32"))
	case len(secret) < shortKey:
		l.doc.Warnings.Add(node.Refusal("the key has fewer than %d bytes and may be guessed; make one with: openssl rand -hex 32", shortKey))
	}
}

// tenantOf resolves a tenant that may be left out where there is only one.
func (l *loader) tenantOf(m document.Map, item *document.Node, name string) string {
	names := l.doc.Auth.Tenants
	switch {
	case len(names) == 0 || slices.Contains(names, name):
		return name
	case m.Has("tenant"):
		l.refusals.Add(m.Get("tenant").Refusal("no tenant has that name; %s", document.WayOut(name, names)))
	case len(names) == 1:
		return names[0]
	default:
		l.refusals.Add(item.Refusal("tenant is missing, and there are several; name one of %s", strings.Join(names, ", ")))
	}
	return ""
}

func (l *loader) roles(m document.Map) []string {
	roles, nodes := m.Get("roles").Texts(&l.refusals)
	for i, role := range roles {
		if role == "" {
			l.refusals.Add(nodes[i].Refusal("a role is empty; name it or remove it"))
		}
	}
	return roles
}

func (l *loader) readCookie(m document.Map) {
	l.doc.Auth.Cookie = m.Text("cookie", defaultCookie)
	if l.doc.Auth.Cookie != "" && !isToken(l.doc.Auth.Cookie) {
		l.refusals.Add(m.Get("cookie").Refusal(`not a cookie's name; use letters, digits, - and _, or "" for no cookie`))
	}
}

func (l *loader) readAnonymous(node *document.Node) {
	if node == nil {
		return
	}
	m := node.Map(&l.refusals, document.Shape{What: "auth.anonymous", Keys: []string{"roles", "tenant"}})
	l.doc.Auth.Anonymous = &auth.Anonymous{Roles: l.roles(m), Tenant: l.tenantOf(m, node, m.Text("tenant", ""))}
}
