package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// connectTimeout bounds a connection attempt where the URL does not.
const connectTimeout = 5 * time.Second

// polish sets what every connection has.
func polish(c *pgx.ConnConfig) {
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "rowcast"
	}
	// Notices are for whoever types SQL.
	c.OnNotice = nil
}
