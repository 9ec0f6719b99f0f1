package main

import (
	"strings"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/boot"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/script"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// sample is a row that somebody may write and a stream that shows it.
type sample struct {
	who          persona
	entity       *schema.Entity
	subscription string
	body         string // JSON
}

// findSample looks for the first entity, and who may do it, where writing a
// row makes a frame on an open stream. It judges as the server will: with the
// same grants, row rules and conditions. Not finding any is no fault.
func findSample(tenant boot.Tenant, people []persona) (*sample, bool) {
	for _, e := range tenant.Model.Entities {
		for _, sub := range e.Subscriptions {
			if !sub.Operations.Has(schema.Create) || sub.Filter != nil {
				continue
			}
			for _, who := range people {
				t := trial{tenant: tenant, entity: e, sub: sub, who: who}
				if body, ok := t.body(); ok {
					return &sample{who, e, sub.Name, body}, true
				}
			}
		}
	}
	return nil, false
}

// trial is one writer, entity and subscription.
type trial struct {
	tenant boot.Tenant
	entity *schema.Entity
	sub    schema.Subscription
	who    persona
}

// body returns the JSON of a row that the writer may create and the stream will
// show. Members of enums are tried in turn, because conditions like to ask for one.
func (t trial) body() (string, bool) {
	policy := t.tenant.Policies[t.entity.Name]
	if policy == nil {
		return "", false
	}
	grant, err := policy.Grant(&access.Principal{ID: t.who.name, Roles: t.who.roles, Tenant: t.tenant.Name})
	if err != nil || !grant.Can(access.Create) || !grant.Can(access.Read) {
		return "", false
	}
	row, sent, ok := t.start()
	if !ok {
		return "", false
	}
	if t.shown(grant, row) {
		return t.json(row, sent), true
	}
	for i, f := range t.entity.Fields {
		if f.Enum == nil || f.System {
			continue
		}
		for _, member := range f.Enum.Values {
			tried := append([]value.Value{}, row...)
			tried[i] = value.OfText(member)
			if t.shown(grant, tried) {
				return t.json(tried, append(sent, i)), true
			}
		}
	}
	return "", false
}

// start returns a row with defaults and the fields that must be sent.
func (t trial) start() (row []value.Value, sent []int, ok bool) {
	row = make([]value.Value, len(t.entity.Fields))
	for i, f := range t.entity.Fields {
		switch {
		case f.System:
		case f.Default != nil:
			row[i] = t.defaultOf(f)
		case i == t.entity.ID && f.Type == value.String:
			row[i], sent = value.OfText("first"), append(sent, i)
		case i == t.entity.ID:
			row[i] = value.OfText("generated")
		case f.Required || f.Name == "title" || f.Name == "name":
			v, easy := plain(f)
			switch {
			case easy:
				row[i], sent = v, append(sent, i)
			case f.Required:
				return nil, nil, false
			}
		}
	}
	return row, sent, true
}

func (t trial) defaultOf(f *schema.Field) value.Value {
	switch f.Default.Kind {
	case schema.DefaultLiteral:
		return f.Default.Value
	case schema.DefaultUserID:
		return value.OfText(t.who.name)
	case schema.DefaultNow:
		return value.OfTime(time.Now())
	default:
		return value.OfText("generated")
	}
}

// plain returns a simple value that the field takes, if one is easily had.
func plain(f *schema.Field) (value.Value, bool) {
	for _, v := range f.Validations {
		switch v.Kind {
		case "oneof":
			return v.OneOf[0], true
		case "min":
			return v.Value, true
		case "pattern", "minlength":
			return value.Value{}, false
		}
	}
	switch f.Type {
	case value.String:
		return value.OfText("first"), true
	case value.Enum:
		return value.OfText(f.Enum.Values[0]), true
	case value.Integer, value.BigInt, value.Boolean:
		return value.OfInt(1), true
	case value.Double:
		return value.OfFloat(1), true
	case value.Date:
		return value.OfText(time.Now().UTC().Format(time.DateOnly)), true
	case value.DateTime, value.Timestamp:
		return value.OfTime(time.Now().Truncate(time.Second)), true
	default:
		return value.Value{}, false
	}
}

// shown reports whether creating the row is allowed, published and visible.
func (t trial) shown(grant *access.Grant, row []value.Value) bool {
	if grant.Rows(access.Create).Eval(row) != predicate.True || grant.Rows(access.Read).Eval(row) != predicate.True {
		return false
	}
	for i := range t.entity.Events {
		p := &t.entity.Events[i]
		if p.Topic == t.sub.Source && p.Operations.Has(schema.Create) && t.published(p, row) {
			return true
		}
	}
	return false
}

func (t trial) published(p *schema.Publisher, row []value.Value) bool {
	if p.Condition == nil {
		return true
	}
	condition, refusals := script.CompileCondition(t.entity, *p.Condition)
	if len(refusals) > 0 {
		return false
	}
	user := script.User{ID: t.who.name, Roles: t.who.roles, Tenant: t.tenant.Name}
	truthy, err := condition.RunCondition(script.Change{Payload: row, Operation: "create", User: user, Tenant: t.tenant.Name})
	return err == nil && truthy
}

func (t trial) json(row []value.Value, sent []int) string {
	members := make([]string, 0, len(sent))
	for _, i := range sent {
		f := t.entity.Fields[i]
		member := value.AppendString(nil, f.Name)
		member = append(member, ':')
		members = append(members, string(value.AppendJSON(member, f.Type, row[i])))
	}
	return "{" + strings.Join(members, ",") + "}"
}
