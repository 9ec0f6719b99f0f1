package httpapi

import (
	"context"
	"net/http"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/render"
)

// grant finds the entity and judges the action on it: the 404 and the 403 that
// stand before anything else of a request is looked at.
func (c *call) grant(action access.Action) (*engine.Engine, *access.Grant, error) {
	e, ok := c.api.config.Tenants.Unit(c.principal.Tenant, c.entity)
	if !ok {
		return nil, nil, entityNotFound(c.entity)
	}
	g, err := e.Grant(c.principal, c.entity, action)
	return e, g, err
}

func entityNotFound(name string) *fault.Fault {
	return fault.New(fault.EntityNotFound, "there is no entity %q", name)
}

func getRow(c *call) error {
	e, g, err := c.grant(access.Read)
	if err != nil {
		return err
	}
	keep, err := c.fields(g)
	if err != nil {
		return err
	}
	row, err := e.Get(c.req.Context(), g, c.key)
	if err != nil {
		return err
	}
	etag := render.ETag(g, row)
	c.Header().Set("ETag", etag)
	if matches(c.req.Header.Get("If-None-Match"), etag) {
		private(c.Header())
		c.WriteHeader(http.StatusNotModified)
		return nil
	}
	c.json(http.StatusOK, render.Row(nil, g, keep, row))
	return nil
}

func createRow(c *call) error {
	e, g, err := c.grant(access.Create)
	if err != nil {
		return err
	}
	if err := c.onlyParameters(); err != nil {
		return err
	}
	b, raw, err := c.object(typeJSON)
	if err != nil {
		return err
	}
	o, err := c.options(raw)
	if err != nil {
		return err
	}
	out, err := e.Create(c.req.Context(), g, b, o)
	if err != nil {
		return err
	}
	c.replayed(out.Again)
	c.Header().Set("Location", rowPath(c.entity, idText(out)))
	if out.Row == nil {
		c.json(http.StatusCreated, appendIDObject(nil, out))
		return nil
	}
	c.row(http.StatusCreated, out)
	return nil
}

func replaceRow(c *call) error {
	return c.writeRow(access.Update, (*engine.Engine).Replace, typeJSON)
}

func patchRow(c *call) error {
	return c.writeRow(access.Update, (*engine.Engine).Patch, typeJSON, typeMerge)
}

// bodyWrite is Replace or Patch of an engine.
type bodyWrite func(*engine.Engine, context.Context, *access.Grant, string, engine.Body, engine.Options) (*engine.Outcome, error)

func (c *call) writeRow(action access.Action, write bodyWrite, types ...string) error {
	e, g, err := c.grant(action)
	if err != nil {
		return err
	}
	if err := c.onlyParameters(); err != nil {
		return err
	}
	b, _, err := c.object(types...)
	if err != nil {
		return err
	}
	out, err := write(e, c.req.Context(), g, c.key, b, c.conditions())
	if err != nil {
		return err
	}
	c.rowOrNothing(out)
	return nil
}

func deleteRow(c *call) error {
	_, err := c.touchRow(access.Delete, (*engine.Engine).Delete)
	if err == nil {
		c.WriteHeader(http.StatusNoContent)
	}
	return err
}

func purgeRow(c *call) error {
	_, err := c.touchRow(access.Purge, (*engine.Engine).Purge)
	if err == nil {
		c.WriteHeader(http.StatusNoContent)
	}
	return err
}

func restoreRow(c *call) error {
	out, err := c.touchRow(access.Restore, (*engine.Engine).Restore)
	if err == nil {
		c.rowOrNothing(out)
	}
	return err
}

// bareWrite is Delete, Restore or Purge of an engine.
type bareWrite func(*engine.Engine, context.Context, *access.Grant, string, engine.Options) (*engine.Outcome, error)

func (c *call) touchRow(action access.Action, write bareWrite) (*engine.Outcome, error) {
	e, g, err := c.grant(action)
	if err != nil {
		return nil, err
	}
	if err := c.onlyParameters(); err != nil {
		return nil, err
	}
	return write(e, c.req.Context(), g, c.key, c.conditions())
}
