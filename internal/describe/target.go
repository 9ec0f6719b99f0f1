package describe

import (
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/webhook"
)

// target adds the deliveries to a target, where this tenant has any for it.
func (d *asyncAPI) target(t *Target) {
	var topics []string
	var sources []source
	unread := false // something is delivered of an entity that the caller does not read
	for _, name := range t.Topics {
		topic, published := d.tenant.Model.Topic(name)
		if !published {
			continue
		}
		topics = append(topics, name)
		for _, p := range topic.Publishers {
			switch of, may := d.readable(p.Entity.Name); {
			case !may:
				unread = true
			case t.As == nil:
				sources = append(sources, source{of, p.Publisher})
			default:
				if as, reads := d.asTarget(of, t.As); reads {
					sources = append(sources, source{as, p.Publisher})
				}
			}
		}
	}
	if len(topics) == 0 {
		return
	}
	messages := object{}
	for i, s := range sources {
		for _, op := range everyOp {
			if s.publisher.Operations.Has(op) {
				messages = append(messages, delivered(s.message(op, i, t.As != nil), topics))
			}
		}
	}
	if unread {
		messages = append(messages, delivered(member{"entity", message("entity", event("", "", "", nil))}, topics))
	}
	d.delivery(t, messages)
}

// asTarget is the entity as a target's principal reads it, and no more of it than
// the caller reads too.
func (d *asyncAPI) asTarget(k known, as *access.Principal) (known, bool) {
	grant, _ := k.grant.Policy.Grant(as) // see caller
	read := k
	read.grant, read.within = grant, k.grant
	return read, grant.Can(access.Read)
}

// delivery adds the channel and operation of a target. Where it is, is not told.
func (d *asyncAPI) delivery(t *Target, messages object) {
	key, title := "webhook."+t.Name, "Webhook "+t.Name
	text := "Posted and signed until it is taken."
	if t.Ordered {
		text += " The events of one row come in their order."
	}
	d.channels = append(d.channels, member{key, object{{"address", nil}, {"title", title}, {"messages", messages}}})
	d.operations = append(d.operations, member{key, object{
		{"action", "send"}, {"channel", object{{"$ref", "#/channels/" + key}}}, {"title", title}, {"description", text},
		{"bindings", object{{"http", object{{"method", "POST"}, {"bindingVersion", "0.3.0"}}}}},
	}})
}

// delivered adds the headers of a delivery to a message.
func delivered(m member, topics []string) member {
	described, _ := m.value.(object)
	text := object{{"type", "string"}}
	properties := object{
		{webhook.HeaderDelivery, text}, {webhook.HeaderTopic, append(text, member{"enum", texts(topics)})}, {webhook.HeaderEvent, text},
		{webhook.HeaderTimestamp, text}, {webhook.HeaderSignature, text},
		{webhook.HeaderID, text}, {webhook.HeaderStandardTimestamp, text}, {webhook.HeaderStandardSignature, text},
	}
	headers := object{{"type", "object"}, {"properties", properties}, {"required", properties.names()}}
	return member{m.name, described.with("headers", headers)}
}
