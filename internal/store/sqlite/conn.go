package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// statements is how many prepared statements a connection keeps. Those of a
// schema are few; what fills the cache are the shapes of lists.
const statements = 512

// conn is one connection with its prepared statements. It belongs to one
// goroutine at a time.
type conn struct {
	db      *sqlite3.Conn
	cache   map[string]*sqlite3.Stmt
	scratch []byte // SQL under construction
	words   words
}

// openConn opens the file. Only the writer may create anything in it.
func openConn(ctx context.Context, path, vfs string, readOnly bool) (*conn, error) {
	flags := sqlite3.OPEN_URI | sqlite3.OPEN_READWRITE
	if readOnly {
		flags = sqlite3.OPEN_URI | sqlite3.OPEN_READONLY
	}
	db, err := sqlite3.OpenFlags(uri(path, vfs), flags)
	if err != nil {
		return nil, fail("open", err)
	}
	c := &conn{db: db, cache: make(map[string]*sqlite3.Stmt)}
	old := db.SetInterrupt(ctx)
	err = c.setUp(readOnly)
	db.SetInterrupt(old)
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// uri names the file so that no byte of the path is taken for a parameter.
// modeof gives the write-ahead log, which holds rows, the file's own mode.
func uri(path, vfs string) string {
	// SQLite reads %20 and takes a plus for a plus.
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	text := filepath.ToSlash(path)
	if !strings.HasPrefix(text, "/") {
		text = "/" + text
	}
	text = "file:" + (&url.URL{Path: text}).EscapedPath() + "?modeof=" + escape(path)
	if vfs != "" {
		text += "&vfs=" + escape(vfs)
	}
	return text
}

func (c *conn) setUp(readOnly bool) error {
	if err := c.db.BusyTimeout(5 * time.Second); err != nil {
		return fail("set the busy timeout", err)
	}
	if err := c.registerLike(); err != nil {
		return fail("register rowcast_like", err)
	}
	pragmas := `PRAGMA cache_size=-8000; PRAGMA query_only=ON`
	if !readOnly {
		version, err := c.queryText(`SELECT sqlite_version()`)
		if err == nil {
			err = checkVersion(version)
		}
		if err != nil {
			return err
		}
		mode, err := c.queryText(`PRAGMA journal_mode=WAL`)
		if err != nil {
			return fail("turn on WAL", err)
		}
		if mode != "wal" {
			return fmt.Errorf("SQLite keeps journal mode %q on this file system; WAL needs shared memory, so move the file to a local disk", mode)
		}
		pragmas = `PRAGMA synchronous=FULL; PRAGMA cache_size=-32000; PRAGMA temp_store=MEMORY`
	}
	if err := c.db.Exec(pragmas); err != nil {
		return fail("set pragmas", err)
	}
	return nil
}

// stmt returns the prepared statement of that text. Its user resets it.
func (c *conn) stmt(sql []byte) (*sqlite3.Stmt, error) {
	if st, ok := c.cache[string(sql)]; ok {
		return st, nil
	}
	return c.prepare(string(sql))
}

func (c *conn) stmtOf(sql string) (*sqlite3.Stmt, error) {
	if st, ok := c.cache[sql]; ok {
		return st, nil
	}
	return c.prepare(sql)
}

func (c *conn) prepare(sql string) (*sqlite3.Stmt, error) {
	if len(c.cache) >= statements {
		c.evict()
	}
	st, _, err := c.db.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, err
	}
	c.cache[sql] = st
	return st, nil
}

// evict makes room by dropping a quarter of the statements, any that is not
// being stepped: the ones in use come back at the price of one compilation.
func (c *conn) evict() {
	drop := statements / 4
	for sql, st := range c.cache {
		if drop == 0 {
			return
		}
		if st.Busy() {
			continue
		}
		_ = st.Close() // the error is that of its last run
		delete(c.cache, sql)
		drop--
	}
}

// exec runs a statement without parameters from the cache.
func (c *conn) exec(sql string) error {
	st, err := c.stmtOf(sql)
	if err != nil {
		return err
	}
	return st.Exec()
}

func (c *conn) queryText(sql string) (text string, err error) {
	st, _, err := c.db.Prepare(sql)
	if err != nil {
		return "", err
	}
	if st.Step() {
		text = st.ColumnText(0)
	}
	return text, errors.Join(st.Err(), st.Close())
}

// resetAll stops whatever a panic left half stepped.
func (c *conn) resetAll() {
	for _, st := range c.cache {
		_ = st.Reset() // the error is that of its last run
	}
}

func (c *conn) close() error {
	for _, st := range c.cache {
		_ = st.Close() // the error is that of its last run
	}
	c.cache = nil
	return c.db.Close()
}

// budget is a context without a timer: SQLite asks it every so many steps
// whether to go on, and asking the clock then is cheaper than a timer a query.
// Done never fires for the deadline; it is for conn.SetInterrupt alone.
type budget struct {
	context.Context //nolint:containedctx // it is a context itself
	end             time.Time
}

// Err implements context.Context.
func (b *budget) Err() error {
	if err := b.Context.Err(); err != nil {
		return err
	}
	if !b.end.IsZero() && time.Now().After(b.end) {
		return context.DeadlineExceeded
	}
	return nil
}
