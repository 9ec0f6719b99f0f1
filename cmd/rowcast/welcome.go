package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/rowcast/rowcast/internal/auth"
	"github.com/rowcast/rowcast/internal/boot"
)

// devTTL is how long the tokens of development mode are good.
const devTTL = 8 * time.Hour

// persona is somebody that development mode has a token for.
type persona struct {
	name  string
	roles []string
	token string
}

// welcome is what a newcomer needs to see a first frame. It is only said in
// development mode, which boot allows on loopback alone.
func welcome(doc *boot.Document, url string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nDevelopment mode (dev: true): for this machine only.\n\n")
	fmt.Fprintf(&b, "  ready    %s/readyz\n  streams  %s/admin/data/streams  (as sam)\n  metrics  %s/metrics  (as sam)\n", url, url, url)
	tenant := doc.Tenants[0]
	people, err := personas(doc, tenant.Name)
	if err != nil {
		fmt.Fprintf(&b, "\nNo tokens: %v.\n\n", err)
		return b.String()
	}
	fmt.Fprintf(&b, "\nTokens, good for %s:\n\n", strings.TrimSuffix(devTTL.String(), "0m0s"))
	for _, p := range people {
		fmt.Fprintf(&b, "  %s (%s)\n  %s\n\n", p.name, describe(p.roles), p.token)
	}
	if s, found := findSample(tenant, people); found {
		b.WriteString(s.curl(url))
	}
	return b.String()
}

func personas(doc *boot.Document, tenant string) ([]persona, error) {
	people := []persona{{name: "ann"}, {name: "sam", roles: []string{"staff"}}}
	if doc.Admin.Role != "staff" {
		people[1].roles = append(people[1].roles, doc.Admin.Role)
	}
	for i := range people {
		token, err := signToken(doc, auth.Claims{Subject: people[i].name, Roles: people[i].roles, Tenant: tenant}, devTTL)
		if err != nil {
			return nil, err
		}
		people[i].token = token
	}
	return people, nil
}

func describe(roles []string) string {
	if len(roles) == 0 {
		return "a plain user"
	}
	return "roles " + strings.Join(roles, ", ")
}

// curl is the two commands, each complete in itself, so that they can be
// pasted into two terminals.
func (s *sample) curl(url string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Open a stream as %s:\n\n", s.who.name)
	fmt.Fprintf(&b, "curl -sN -H 'Authorization: Bearer %s' '%s/subscribe/%s?name=%s'\n\n", s.who.token, url, s.entity.Name, s.subscription)
	fmt.Fprintf(&b, "In another terminal, write a row:\n\n")
	fmt.Fprintf(&b, "curl -s -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d %s '%s/data/%s'\n\n",
		s.who.token, quote(s.body), url, s.entity.Name)
	return b.String()
}

// quote makes one word of a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
