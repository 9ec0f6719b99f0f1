package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/render"
)

func transact(c *call) error {
	if err := c.onlyParameters(); err != nil {
		return err
	}
	b, raw, err := c.object(typeJSON)
	if err != nil {
		return err
	}
	steps, err := decodeSteps(b)
	if err != nil {
		return err
	}
	o, err := c.options(raw)
	if err != nil {
		return err
	}
	e, err := c.unitOf(steps)
	if err != nil {
		return err
	}
	outs, err := e.Transaction(c.req.Context(), c.principal, steps, o)
	if err != nil {
		return err
	}
	c.replayed(len(outs) > 0 && outs[0] != nil && outs[0].Again)
	c.json(http.StatusOK, appendResults(nil, steps, outs))
	return nil
}

// unitOf finds the one engine that all steps belong to: a transaction cannot
// span two databases.
func (c *call) unitOf(steps []engine.Step) (*engine.Engine, error) {
	var first *engine.Engine
	for i, s := range steps {
		e, ok := c.api.config.Tenants.Unit(c.principal.Tenant, s.Entity)
		switch {
		case !ok:
			return nil, stepFault(i, entityNotFound(s.Entity))
		case first == nil:
			first = e
		case first != e:
			return nil, stepFault(i, fault.New(fault.Invalid, "%s is kept in another datastore than %s; a transaction writes to one", s.Entity, steps[0].Entity))
		}
	}
	return first, nil
}

func stepFault(i int, f *fault.Fault) *fault.Fault {
	f.Message = "writes[" + strconv.Itoa(i) + "]: " + f.Message
	return f
}

// decodeSteps reads {"writes": [{op, entity, id, data}]}.
func decodeSteps(b engine.Body) ([]engine.Step, error) {
	if len(b) != 1 || b[0].Name != "writes" {
		return nil, fault.New(fault.MalformedBody, `a transaction is {"writes": [{"op", "entity", "id", "data"}]} and nothing else`)
	}
	writes, err := engine.DecodeBodies(b[0].Raw, false)
	if err != nil {
		return nil, err
	}
	if len(writes) == 0 {
		return nil, fault.New(fault.MalformedBody, "writes is empty; name at least one write")
	}
	steps := make([]engine.Step, len(writes))
	for i, w := range writes {
		if steps[i], err = decodeStep(w); err != nil {
			if f, ok := fault.Of(err); ok {
				err = stepFault(i, f)
			}
			return nil, err
		}
	}
	return steps, nil
}

// decodeStep reads one write. Whether its op is one, and has what it needs, the
// engine judges.
func decodeStep(b engine.Body) (s engine.Step, err error) {
	for _, m := range b {
		switch m.Name {
		case "op":
			s.Op, err = text(m)
		case "entity":
			s.Entity, err = text(m)
		case "id":
			s.ID, err = idOf(m)
		case "data":
			s.Data, err = engine.DecodeBody(m.Raw)
		default:
			err = fault.New(fault.MalformedBody, "a write has op, entity, id and data, and no %q", m.Name)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

func text(m engine.Member) (string, error) {
	var s string
	if err := json.Unmarshal(m.Raw, &s); err != nil || m.Raw[0] != '"' {
		return "", fault.New(fault.MalformedBody, "%s must be a string", m.Name)
	}
	return s, nil
}

// idOf takes an id as a string or, where ids are numbers, as a number.
func idOf(m engine.Member) (string, error) {
	var n json.Number
	if m.Raw[0] != '"' && json.Unmarshal(m.Raw, &n) == nil && n != "" {
		return n.String(), nil
	}
	return text(m)
}

// appendResults renders one result a step: the row, {"id":…} where the writer
// may not read it, null for what was deleted.
func appendResults(dst []byte, steps []engine.Step, outs []*engine.Outcome) []byte {
	dst = append(dst, `{"results":[`...)
	for i, o := range outs {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case o == nil || steps[i].Op == "delete":
			dst = append(dst, "null"...)
		case o.Row == nil:
			dst = appendIDObject(dst, o)
		default:
			dst = render.Row(dst, o.Grant, nil, o.Row)
		}
	}
	return append(dst, "]}"...)
}
