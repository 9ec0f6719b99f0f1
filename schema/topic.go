package schema

// Topic is one name that events are published under, with its publishers. Two
// entities may publish to the same topic.
type Topic struct {
	Name       string
	Publishers []TopicPublisher
}

// TopicPublisher is an entity's entry that publishes to a topic.
type TopicPublisher struct {
	Entity    *Entity
	Publisher *Publisher
}

// Topics returns every topic that is published, in the order of declaration.
func (m *Model) Topics() []*Topic { return m.topics }

// Topic returns the topic of that name with its publishers in every datastore.
func (m *Model) Topic(name string) (*Topic, bool) {
	for _, t := range m.topics {
		if t.Name == name {
			return t, true
		}
	}
	return nil, false
}

// Source returns who publishes what a subscription of e reads: the publishers
// of its topic in e's own datastore, the unit that events are routed in
// (contract: Scope of the fan-out). In a loaded Model there is at least one.
func (m *Model) Source(e *Entity, s *Subscription) []TopicPublisher {
	topic, ok := m.Topic(s.Source)
	if !ok {
		return nil
	}
	var out []TopicPublisher
	for _, p := range topic.Publishers {
		if p.Entity.Datastore == e.Datastore {
			out = append(out, p)
		}
	}
	return out
}

// collectTopics gathers the topics of all entities.
func (m *Model) collectTopics() {
	for _, e := range m.Entities {
		for i := range e.Events {
			p := &e.Events[i]
			topic, ok := m.Topic(p.Topic)
			if !ok {
				topic = &Topic{Name: p.Topic}
				m.topics = append(m.topics, topic)
			}
			topic.Publishers = append(topic.Publishers, TopicPublisher{Entity: e, Publisher: p})
		}
	}
}
