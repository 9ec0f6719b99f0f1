// Package boot reads the boot document (rowcast.yaml) and everything it names,
// strictly, and cross-checks it: what is wrong with the document, the schemas,
// the rules and the scripts is refused together, before anything is opened.
//
// Guarantees:
//   - A key that is unknown, or that this version does not serve, is a refusal;
//     nothing is accepted and ignored.
//   - No refusal and no warning shows a secret.
//   - A Document that Load returns without refusals can be served: paths are
//     resolved, every policy is compiled, no two datastores share a file or a
//     namespace of one database.
//
// A Document is not changed after Load and is safe for concurrent use. Load
// touches no database and no network. The package may import value, document,
// schema, predicate, script, access, auth and webhook.
package boot

import (
	"log/slog"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/auth"
	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/schema"
)

// Document is a boot document that may be served.
type Document struct {
	File      string // as given to Load
	Listen    string // HOST:PORT; port 0 is any. Defaults to 127.0.0.1:8080
	TLS       TLS
	Dev       bool // prints tokens and links at start. Defaults to false
	Log       Log
	Auth      auth.Config // what the document says of it; clock, client and logger are the caller's
	Tenants   []Tenant    // in declared order, at least one
	Events    Events
	Scheduler Scheduler
	Realtime  *schema.Realtime // what holds for the channels of every entity that does not say otherwise; nil: absent, and an entity must opt in
	Limits    Limits
	CORS      CORS
	Admin     Admin
	Warnings  document.Refusals // what is worth saying and no reason to refuse
}

// TLS names the files of a certificate and its key. Defaults to neither: plain HTTP.
type TLS struct{ Cert, Key string }

// Log says what is logged and how.
type Log struct {
	Level  slog.Level // Defaults to info
	Format string     // text or json. Defaults to text
}

// Tenant is one tenant with everything compiled.
type Tenant struct {
	Name       string
	Schema     string // file or folder
	Model      *schema.Model
	Policies   map[string]*access.Policy // by entity
	Datastores map[string]Datastore      // by name
}

// Datastore is where rows of a tenant are kept.
type Datastore struct {
	Name      string
	Driver    string // sqlite or postgres
	Path      string // sqlite: of the database file, absolute
	URL       string // postgres: of the database, with its password
	ListenURL string // postgres: the same past a pooler. Defaults to URL
	Namespace string // postgres: the PostgreSQL schema of this datastore alone
	MaxConns  int    // postgres: connections of all datastores of one URL. Defaults to 10
	Pos       document.Pos
}

// Events says how long changes can be resumed from, and where they are delivered.
type Events struct {
	Retention time.Duration // of the change log. Defaults to 24 hours
	Targets   []Target      // in declared order; of every tenant and datastore. Defaults to none
}

// Scheduler says how often what has no other occasion is looked at.
type Scheduler struct{ Outbox Outbox }

// Outbox is the slot of the delivery queue.
type Outbox struct {
	Every time.Duration // Defaults to 10 s
}

// Limits bound what one request, one principal and the process may take.
type Limits struct {
	Body                int64         // bytes of a request's body. Defaults to 1 MiB
	Rows                int           // rows of one write. Defaults to 10000
	Query               time.Duration // of one read. Defaults to 5 s
	StreamsPerPrincipal int           // open streams. Defaults to 100
	Streams             int           // open streams of the process. Defaults to 50000
}

// CORS says which other origins' pages may call.
type CORS struct {
	Origins []string // Defaults to none
}

// Admin guards what is for operators.
type Admin struct {
	Role   string // who may use /admin. Defaults to admin
	Listen string // a listener of its own for metrics and probes. Defaults to "": the common one
}

// TenantNames returns the names of all tenants, in declared order.
func (d *Document) TenantNames() []string {
	names := make([]string, len(d.Tenants))
	for i, t := range d.Tenants {
		names[i] = t.Name
	}
	return names
}
