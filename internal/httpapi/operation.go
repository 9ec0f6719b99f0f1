package httpapi

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/engine"
)

// operateRow takes a custom operation on one row: POST /data/{entity}/{id}/{operation}.
func operateRow(c *call) error { return c.operate(true) }

// operateEntity takes one that no row is named for: POST /data/{entity}/{operation}.
// Where the entity has none of that name, this is a POST to a row of that id, as
// it would be if there were no operations at all.
func operateEntity(c *call) error {
	err := c.operate(false)
	if !fault.Is(err, fault.OperationNotFound) {
		return err
	}
	return c.notAllowed(c.api.data.row)
}

func (c *call) operate(onRow bool) error {
	e, ok := c.api.config.Tenants.Unit(c.principal.Tenant, c.entity)
	if !ok {
		return entityNotFound(c.entity)
	}
	op, g, err := e.Operation(c.principal, c.entity, c.operation, onRow)
	if err != nil {
		return err
	}
	if err := c.onlyParameters(); err != nil {
		return err
	}
	input, err := c.input(op)
	if err != nil {
		return err
	}
	o, err := c.options(input)
	if err != nil {
		return err
	}
	done, err := e.Operate(c.req.Context(), g, op, engine.Request{ID: c.key, Input: input, Options: o})
	if err != nil {
		return err
	}
	c.done(op, done)
	return nil
}

// input reads the body: one JSON object, or nothing. To an operation that takes
// no input an object with anything in it is refused: what it holds would go
// nowhere.
func (c *call) input(op *engine.Operation) ([]byte, error) {
	data, err := c.read()
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return nil, err
	}
	if _, err := c.contentType([]string{typeJSON}); err != nil {
		return nil, err
	}
	body, err := engine.DecodeBody(data)
	if err != nil {
		return nil, err
	}
	if len(body) > 0 && !op.TakesInput() {
		return nil, fault.New(fault.MalformedBody, "operation %q takes no input: leave the body empty, or send {}", op.Name)
	}
	return data, nil
}

// done answers: what one that reads replies; how many rows one on many wrote;
// the row, as far as the caller may read it.
func (c *call) done(op *engine.Operation, d *engine.Done) {
	switch {
	case op.Reads() && d.Reply != nil:
		c.json(http.StatusOK, d.Reply)
	case !op.Reads() && op.Cardinality == "many":
		c.replayed(d.Again)
		c.json(http.StatusOK, append(strconv.AppendInt([]byte(`{"changed":`), int64(d.Changed), 10), '}'))
	case d.Outcome != nil:
		c.rowOrNothing(d.Outcome)
	default:
		c.replayed(d.Again)
		c.WriteHeader(http.StatusNoContent)
	}
}
