package httpapi

import (
	"net/http"
	"net/url"
	"strings"
)

// dataRoutes are the routes below /data/.
type dataRoutes struct {
	transaction, collection, bulk, row, restore, purge *route
	entityOperation, rowOperation                      *route
}

func newDataRoutes() dataRoutes {
	row := map[string]handler{
		http.MethodGet: getRow, http.MethodPut: replaceRow, http.MethodPatch: patchRow, http.MethodDelete: deleteRow,
	}
	// A row may have the id "bulk": only POST, which no row takes, means the bulk route.
	bulk := map[string]handler{http.MethodPost: createBulk}
	for method, h := range row {
		bulk[method] = h
	}
	return dataRoutes{
		transaction: dataRoute("/data/transaction", map[string]handler{http.MethodPost: transact}),
		collection: dataRoute("/data/{entity}", map[string]handler{
			http.MethodGet: listRows, http.MethodPost: createRow, http.MethodPatch: patchMany, http.MethodDelete: deleteMany,
		}),
		bulk:    dataRoute("/data/{entity}/bulk", bulk),
		row:     dataRoute("/data/{entity}/{id}", row),
		restore: dataRoute("/data/{entity}/{id}/restore", map[string]handler{http.MethodPatch: restoreRow}),
		purge:   dataRoute("/data/{entity}/{id}/purge", map[string]handler{http.MethodDelete: purgeRow}),
		// Only POST, which no row takes, means an operation.
		entityOperation: dataRoute("/data/{entity}/{operation}", map[string]handler{http.MethodPost: operateEntity}),
		rowOperation:    dataRoute("/data/{entity}/{id}/{operation}", map[string]handler{http.MethodPost: operateRow}),
	}
}

// all returns every one of them.
func (d *dataRoutes) all() []*route {
	return []*route{d.collection, d.bulk, d.row, d.purge, d.restore, d.rowOperation, d.entityOperation, d.transaction}
}

func dataRoute(pattern string, methods map[string]handler) *route {
	return &route{pattern: pattern, guard: Caller, methods: methods}
}

// find splits the rest of an escaped path at its slashes and then decodes each
// part, once: so an id may hold slashes, dots and percent signs. It leaves the
// entity, and the id or operation, in c.
func (d *dataRoutes) find(c *call, method, rest string) *route {
	parts := strings.SplitN(rest, "/", 4)
	for i, part := range parts {
		decoded, err := url.PathUnescape(part)
		if err != nil || decoded == "" {
			return unknownRoute
		}
		parts[i] = decoded
	}
	c.entity = parts[0]
	if len(parts) > 1 {
		c.key = parts[1]
	}
	switch {
	case len(parts) == 1 && c.entity == "transaction":
		return d.transaction
	case len(parts) == 1:
		return d.collection
	case len(parts) == 2 && c.key == "bulk":
		return d.bulk
	case len(parts) == 2 && method == http.MethodPost:
		c.key, c.operation = "", parts[1]
		return d.entityOperation
	case len(parts) == 2:
		return d.row
	case len(parts) == 3 && parts[2] == "restore":
		return d.restore
	case len(parts) == 3 && parts[2] == "purge":
		return d.purge
	case len(parts) == 3 && (method == http.MethodPost || method == http.MethodOptions):
		c.operation = parts[2]
		return d.rowOperation
	}
	return unknownRoute
}

// rowPath is the path of a row, for Location. A lone "." or ".." would be taken
// for a step in the path, so its dots are escaped too.
func rowPath(entity, id string) string {
	escaped := url.PathEscape(id)
	if id == "." || id == ".." {
		escaped = strings.ReplaceAll(id, ".", "%2E")
	}
	return "/data/" + url.PathEscape(entity) + "/" + escaped
}
