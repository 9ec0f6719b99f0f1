package httpapi

import (
	"net/http"
	"strconv"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/render"
	"github.com/rowcast/rowcast/internal/value"
)

func listRows(c *call) error {
	e, g, err := c.grant(access.Read)
	if err != nil {
		return err
	}
	page, err := e.List(c.req.Context(), g, engine.ListRequest{RawQuery: c.req.URL.RawQuery})
	if err != nil {
		return err
	}
	c.json(http.StatusOK, appendPage(nil, g, page))
	return nil
}

// appendPage renders a page; each item is what GET of that row shows.
func appendPage(dst []byte, g *access.Grant, p *engine.Page) []byte {
	dst = append(dst, `{"items":[`...)
	for i, row := range p.Rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = render.Row(dst, g, p.Keep, row)
	}
	dst = append(dst, `],"limit":`...)
	dst = strconv.AppendInt(dst, int64(p.Limit), 10)
	dst = append(dst, `,"offset":`...)
	if p.Offset != nil {
		dst = strconv.AppendInt(dst, int64(*p.Offset), 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"total":`...)
	if p.Total != nil {
		dst = strconv.AppendInt(dst, *p.Total, 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"next":`...)
	if p.Next != "" {
		dst = value.AppendString(dst, p.Next)
	} else {
		dst = append(dst, "null"...)
	}
	return append(dst, '}')
}

func patchMany(c *call) error {
	e, g, err := c.grant(access.Update)
	if err != nil {
		return err
	}
	b, _, err := c.object(typeJSON, typeMerge)
	if err != nil {
		return err
	}
	n, err := e.PatchMany(c.req.Context(), g, c.req.URL.RawQuery, b)
	return c.changed(n, err)
}

func deleteMany(c *call) error {
	e, g, err := c.grant(access.Delete)
	if err != nil {
		return err
	}
	n, err := e.DeleteMany(c.req.Context(), g, c.req.URL.RawQuery)
	return c.changed(n, err)
}

func (c *call) changed(n int, err error) error {
	if err != nil {
		return err
	}
	body := strconv.AppendInt([]byte(`{"changed":`), int64(n), 10)
	c.json(http.StatusOK, append(body, '}'))
	return nil
}

func createBulk(c *call) error {
	e, g, err := c.grant(access.Create)
	if err != nil {
		return err
	}
	if err := c.onlyParameters(); err != nil {
		return err
	}
	raw, contentType, err := c.body(typeJSON, typeNDJSON)
	if err != nil {
		return err
	}
	bodies, err := engine.DecodeBodies(raw, contentType == typeNDJSON)
	if err != nil {
		return err
	}
	o, err := c.options(raw)
	if err != nil {
		return err
	}
	ids, again, err := e.Bulk(c.req.Context(), g, bodies, o)
	if err != nil {
		return err
	}
	c.replayed(again)
	c.json(http.StatusCreated, appendIDs(nil, g, ids))
	return nil
}

func appendIDs(dst []byte, g *access.Grant, ids []value.Value) []byte {
	e := g.Policy.Entity
	dst = append(dst, `{"ids":[`...)
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value.AppendJSON(dst, e.Fields[e.ID].Type, id)
	}
	return append(dst, "]}"...)
}
