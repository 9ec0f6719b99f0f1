package boot

import (
	"strings"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/webhook"
)

// targetSecrets reads what signs a target's deliveries: one secret, or several
// while one replaces another.
func (l *loader) targetSecrets(node *document.Node) []string {
	if node == nil {
		return nil
	}
	nodes := []*document.Node{node}
	if node.Kind() == document.Sequence {
		nodes = node.List(&l.refusals)
	}
	if len(nodes) == 0 {
		l.refusals.Add(node.Refusal("secret is an empty list; an unsigned delivery is one a receiver cannot trust: name at least one"))
	}
	var secrets []string
	for _, n := range nodes {
		secret, ok := n.Text(&l.refusals)
		if !ok {
			continue
		}
		l.checkSecret(n, secret)
		secrets = append(secrets, secret)
	}
	return secrets
}

func (l *loader) checkSecret(node *document.Node, secret string) {
	switch err := webhook.CheckSecret(secret); {
	case err != nil:
		l.refusals.Add(node.Refusal("%s; make one with: openssl rand -hex 32", strings.TrimPrefix(err.Error(), "webhook: ")))
	case len(secret) < shortKey:
		l.doc.Warnings.Add(node.Refusal("the secret has fewer than %d bytes and may be guessed; make one with: openssl rand -hex 32", shortKey))
	}
}
