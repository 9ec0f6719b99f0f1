package describe

import (
	"strconv"

	"github.com/rowcast/rowcast/schema"
)

// source is a publisher of what is told, and its entity as somebody reads it.
type source struct {
	of        known
	publisher *schema.Publisher
}

// sources are who publishes what the subscription reads; ok is false where the
// caller may not read one of them, and so may not listen.
func (d *asyncAPI) sources(k known, s *schema.Subscription) (all []source, ok bool) {
	for _, p := range d.tenant.Model.Source(k.Entity, s) {
		of, may := d.readable(p.Entity.Name)
		if !may {
			return nil, false
		}
		all = append(all, source{of, p.Publisher})
	}
	return all, true
}

// subscription adds the stream of a declared subscription.
func (d *asyncAPI) subscription(k known, s *schema.Subscription) {
	sources, ok := d.sources(k, s)
	if !ok {
		return
	}
	out := stream{
		key: "subscribe." + k.Name + "." + s.Name, address: "/subscribe/" + k.Name, title: "Subscription " + s.Name + " of " + k.Name,
		query: object{
			{"name", object{{"type", "string"}, {"const", s.Name}}},
			{"ops", object{{"type", "string"}, {"description", "Some of " + s.Operations.String() + ", with commas between."}}},
		},
	}
	if len(k.Subscriptions) > 1 {
		out.required = []string{"name"}
	}
	for i, src := range sources {
		out.messages = append(out.messages, src.messages(s, i)...)
	}
	d.add(out)
}

// messages are the frames that tell of one source.
func (s source) messages(sub *schema.Subscription, at int) (all object) {
	for _, op := range everyOp {
		if sub.Operations.Has(op) && s.publisher.Operations.Has(op) {
			all = append(all, s.message(op, at, sub.RLS))
		}
	}
	if sub.Operations.Has(schema.Update) {
		all = append(all, member{numbered("entity.leave", at), message("entity.leave", event("entity.leave", s.of.Name, schema.Update.String(), nil))})
	}
	return all
}

// everyOp is in the order that descriptions have them in.
var everyOp = []schema.Op{schema.Create, schema.Update, schema.Delete}

// message is what is told of an operation; of a delete never with values.
func (s source) message(op schema.Op, at int, values bool) member {
	var data object
	if values && op != schema.Delete {
		data = s.of.data(s.publisher.Keeps)
	}
	name := "entity." + op.String()
	return member{numbered(name, at), message(name, event(name, s.of.Name, op.String(), data))}
}

// numbered tells the messages of one name apart that come from several sources.
func numbered(name string, at int) string {
	if at == 0 {
		return name
	}
	return name + "." + strconv.Itoa(at+1)
}

// message describes a frame or a delivery.
func message(name string, payload object) object {
	return object{{"name", name}, {"contentType", "application/json"}, {"payload", payload}}
}
