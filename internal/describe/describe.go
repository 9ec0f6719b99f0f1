// Package describe writes what a server serves for programs to read: OpenAPI 3.1
// of the requests it takes, AsyncAPI 3.0 of the streams, channels and webhooks
// it sends, both made from the schema for the one who asks.
//
// It promises that a description tells a caller nothing that the caller may not
// know:
//   - An entity on which the caller may do nothing is in neither; an action that
//     the caller may not take has no operation.
//   - A field that the caller does not read is in no row, frame, filter or sort; a
//     masked one is described as its mask leaves it.
//   - A field that may be sent and not read is in the bodies of a caller who reads
//     no row of the entity at all, since all it can do is send them. To whoever
//     reads rows it is named only where a create needs it, as the server's own
//     refusal would.
//   - Admin routes and targets are described to the admin role alone, and of a
//     target neither its URL nor a secret nor the value of a header to anybody. The
//     fields that it is sent are named only as far as the admin reads them too.
//
// The same schema and rights give the same bytes, entities and fields in declared
// order. Rights are the Grants that guard the rows themselves; nothing here guards
// anything.
//
// A Config is not changed once in use, and everything is safe for concurrent use.
// The package may import fault, webhook, value, schema, access and httpapi.
package describe

import (
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/schema"
)

// Config is what is served.
type Config struct {
	Tenants   []Tenant
	Realtime  *schema.Realtime // the boot document's defaults for channels; nil: none
	AdminRole string           // defaults to "admin"
	Cookie    string           // name of the session cookie; "": there is no /session
}

// Tenant is what one tenant serves.
type Tenant struct {
	Name     string
	Model    *schema.Model
	Policies map[string]*access.Policy // by entity
	Handled  []Handled                 // operations that are done in Go
	Targets  []Target                  // in declared order
}

// Handled is an operation that a handler in Go does. It stands for the declared
// one of its name, where there is one.
type Handled struct {
	Entity    string
	Operation *schema.Operation
}

// Target is where events are delivered, without what is secret.
type Target struct {
	Name    string
	Topics  []string
	As      *access.Principal // who reads what is delivered; nil: nobody
	Ordered bool
}

// OpenAPI returns the description of the requests that the principal may make.
func (c *Config) OpenAPI(p *access.Principal) []byte { return newOpenAPI(c.caller(p)).document() }

// AsyncAPI returns the description of what the principal may be sent.
func (c *Config) AsyncAPI(p *access.Principal) []byte { return newAsyncAPI(c.caller(p)).document() }
