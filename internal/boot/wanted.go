package boot

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/auth"
	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/schema"
)

// published returns the topics of all tenants' schemas, each once; known is
// false where a schema was refused, so that nobody knows what it publishes.
func (l *loader) published() (topics []string, known bool) {
	seen := map[string]bool{}
	for _, t := range l.doc.Tenants {
		if t.Model == nil {
			return nil, false
		}
		for _, topic := range t.Model.Topics() {
			if !seen[topic.Name] {
				seen[topic.Name] = true
				topics = append(topics, topic.Name)
			}
		}
	}
	return topics, true
}

// publishedTopics ends the message about a target that names none.
func (l *loader) publishedTopics() string {
	topics, _ := l.published()
	if len(topics) == 0 {
		return "no entity publishes any yet: give one an events block"
	}
	return "published are " + strings.Join(topics, ", ")
}

func (l *loader) targetTopics(node *document.Node) []string {
	topics, nodes := node.Texts(&l.refusals)
	if node.Kind() == document.Sequence && len(node.List(&l.refusals)) == 0 {
		l.refusals.Add(node.Refusal("topics is empty, so that nothing would ever be delivered; %s", l.publishedTopics()))
	}
	published, known := l.published()
	names := map[string]bool{}
	for _, name := range published {
		names[name] = true
	}
	seen := map[string]bool{}
	for i, topic := range topics {
		switch {
		case topic == "":
			l.refusals.Add(nodes[i].Refusal("a topic is empty; name it or remove it"))
		case seen[topic]:
			l.refusals.Add(nodes[i].Refusal("the topic is named twice; once is enough"))
		case known && !names[topic]:
			l.refusals.Add(nodes[i].Refusal("nobody publishes to this topic, so that nothing would ever be delivered; %s", l.nearTopic(topic, published)))
		}
		seen[topic] = true
	}
	return topics
}

// nearTopic is the way out for a topic that nobody publishes.
func (l *loader) nearTopic(topic string, published []string) string {
	if near := document.Nearest(topic, published); near != "" {
		return document.WayOut(topic, published) + " " + l.publishedTopics()
	}
	return l.publishedTopics()
}

func (l *loader) targetAs(node *document.Node, topics []string) *As {
	if node == nil {
		return nil
	}
	before := len(l.refusals)
	m := node.Map(&l.refusals, document.Shape{What: "as", Keys: []string{"id", "roles", "claims"}})
	as := &As{ID: m.Text("id", ""), Roles: l.roles(m), Claims: map[string]any{}}
	if id := m.Need("id", "name as whom the target reads, such as id: svc-billing"); id != nil {
		if err := auth.CheckID(as.ID); err != nil && len(l.refusals) == before {
			l.refusals.Add(id.Refusal("the id is not usable: %s; write a short name", err))
		}
	}
	for _, member := range m.Get("claims").Members(&l.refusals) {
		as.Claims[member.Key.Raw()] = decoded(member.Value)
	}
	if len(l.refusals) == before {
		l.checkReads(node, as, topics)
	}
	return as
}

// checkReads refuses a principal that may not read an entity of one of the
// topics: the target would silently receive nothing of it.
func (l *loader) checkReads(node *document.Node, as *As, topics []string) {
	for _, t := range l.doc.Tenants {
		for _, name := range topics {
			if t.Model == nil {
				continue
			}
			topic, ok := t.Model.Topic(name)
			if !ok {
				continue
			}
			for _, from := range topic.Publishers {
				if policy := t.Policies[from.Entity.Name]; policy != nil && !mayRead(policy, as.Principal(t.Name)) {
					l.refuseReader(node, t.Name, name, from.Entity)
				}
			}
		}
	}
}

func (l *loader) refuseReader(node *document.Node, tenant, topic string, e *schema.Entity) {
	l.refusals.Add(node.Refusal("as may not read entity %s of tenant %s, which publishes to %s: the target would receive nothing of it; give as the roles or claims that access asks for, or leave as out for notifications without values",
		e.Name, tenant, topic))
}

// mayRead reports whether the principal may read the entity at all. A rule that
// cannot be evaluated for it denies.
func mayRead(policy *access.Policy, pr *access.Principal) bool {
	grant, _ := policy.Grant(pr)
	return grant.Can(access.Read)
}

// number is what JSON reads as one.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// decoded makes of a claim what a token's JSON would make of it.
func decoded(node *document.Node) any {
	switch node.Kind() {
	case document.Sequence:
		var ignored document.Refusals
		list := []any{}
		for _, item := range node.List(&ignored) {
			list = append(list, decoded(item))
		}
		return list
	case document.Mapping:
		var ignored document.Refusals
		object := map[string]any{}
		for _, member := range node.Members(&ignored) {
			object[member.Key.Raw()] = decoded(member.Value)
		}
		return object
	case document.Scalar:
		return decodedScalar(node)
	default:
		return nil
	}
}

func decodedScalar(node *document.Node) any {
	text := node.Raw()
	switch {
	case node.Quoted():
		return text
	case text == "true" || text == "false":
		return text == "true"
	case text == "null" || text == "~":
		return nil
	case number.MatchString(text):
		return json.Number(text)
	default:
		return text
	}
}
