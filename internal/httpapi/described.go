package httpapi

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/rowcast/rowcast/fault"
)

// StatusOf returns the status that a problem of the code has.
func StatusOf(code fault.Code) int {
	if k, ok := kinds[code]; ok {
		return k.status
	}
	return http.StatusInternalServerError
}

// Served is a method that a pattern takes.
type Served struct{ Method, Pattern string }

// Served returns all that the API takes, but HEAD and OPTIONS, by pattern and
// method: what a description of it must have.
func (a *API) Served() []Served {
	var all []Served
	for _, rt := range append(a.data.all(), a.routes...) {
		for method := range rt.methods {
			all = append(all, Served{Method: method, Pattern: rt.pattern})
		}
	}
	slices.SortFunc(all, func(a, b Served) int {
		return cmp.Or(cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Method, b.Method))
	})
	return all
}
