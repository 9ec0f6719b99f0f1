package stream

import (
	"context"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/hub"
	"github.com/rowcast/rowcast/internal/script"
	"github.com/rowcast/rowcast/schema"
)

// Request asks for a stream.
type Request struct {
	Principal   *access.Principal
	Entity      string
	RawQuery    string
	LastEventID string // the header, which beats the parameter
}

// Stream is an opened request: judged, and not yet served.
type Stream struct {
	server      *Server
	view        hub.View
	about       hub.About // of view
	settings              // as asked for: the credential may end it before its lifetime
	unavailable bool      // the store could not be asked: say so in-band
}

// Open judges a request in this order: entity, the right to read it, proved by
// a read, then the parameters (contract: The route). The error is a *fault.Fault.
func (s *Server) Open(ctx context.Context, r Request) (*Stream, error) {
	grant, unavailable, err := s.admit(ctx, r.Principal, r.Entity)
	if err != nil {
		return nil, err
	}
	p, perr := parseParameters(r.RawQuery)
	if p.unclear {
		return nil, perr
	}
	sub, err := choose(grant.Policy.Entity, p)
	if err != nil {
		return nil, err
	}
	if perr != nil {
		return nil, perr
	}
	view, err := s.view(r.Principal, grant.Policy.Entity, sub, p)
	if err != nil {
		return nil, err
	}
	return s.stream(view, p.settings, r.LastEventID, unavailable), nil
}

// admit judges whether the principal may read the entity, and proves it by a
// read. unavailable says that the store could not be asked.
func (s *Server) admit(ctx context.Context, pr *access.Principal, entity string) (g *access.Grant, unavailable bool, err error) {
	g, err = s.config.Engine.Grant(pr, entity, access.Read)
	if err != nil {
		return nil, false, err
	}
	err = s.config.Engine.Probe(ctx, g)
	if fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Timeout) {
		return g, true, nil
	}
	return g, false, err
}

// stream returns what is to be served. The header beats the parameter.
func (s *Server) stream(view hub.View, asked settings, lastEventID string, unavailable bool) *Stream {
	if lastEventID != "" {
		asked.lastEventID = lastEventID
	}
	return &Stream{server: s, view: view, about: view.About(), settings: asked, unavailable: unavailable}
}

// choose finds the subscription (contract: the table of refusals).
func choose(e *schema.Entity, p parameters) (*schema.Subscription, error) {
	switch {
	case len(e.Subscriptions) == 0:
		return nil, fault.New(fault.NoSubscriptionDeclared, "entity %s declares no subscriptions, so it has no stream", e.Name)
	case p.named:
		for i := range e.Subscriptions {
			if e.Subscriptions[i].Name == p.name {
				return &e.Subscriptions[i], nil
			}
		}
		return nil, listing(fault.New(fault.SubscriptionNotFound, "entity %s has no subscription %q", e.Name, p.name), e)
	case len(e.Subscriptions) > 1:
		return nil, listing(fault.New(fault.SubscriptionAmbiguous, "entity %s has several subscriptions: say which with name=", e.Name), e)
	default:
		return &e.Subscriptions[0], nil
	}
}

func listing(f *fault.Fault, e *schema.Entity) *fault.Fault {
	for i := range e.Subscriptions {
		f.Available = append(f.Available, e.Subscriptions[i].Name)
	}
	return f
}

// view grants the principal every entity that publishes to the topic: who may
// not read one of them may not listen.
func (s *Server) view(pr *access.Principal, e *schema.Entity, sub *schema.Subscription, p parameters) (*hub.Declared, error) {
	v := &hub.Declared{
		Tenant: s.config.Tenant, Entity: e, Subscription: sub, Topic: sub.Source,
		Ops: sub.Operations, Leave: p.leave, Principal: pr,
	}
	if p.narrowed {
		ops, err := narrow(sub.Operations, p.ops)
		if err != nil {
			return nil, err
		}
		v.Ops = ops
	}
	if p.leave && !v.Ops.Has(schema.Update) {
		return nil, fault.New(fault.BadOps, "leave=true tells of updates: update must be among the operations of the stream")
	}
	for _, src := range s.sources[sub] {
		grant, err := s.config.Engine.Grant(pr, src.entity.Name, access.Read)
		if err != nil {
			return nil, err
		}
		v.See(hub.Source{Publisher: src.publisher, Grant: grant, Filter: src.filter})
	}
	return v, nil
}

// source is an entity that publishes to a subscription's topic.
type source struct {
	entity    *schema.Entity
	publisher *schema.Publisher
	filter    *script.Program
}
