-- The change log: one row per (change, topic), in commit order. AUTOINCREMENT
-- keeps the last number in sqlite_sequence, so that none is used twice even
-- when pruning has emptied the table. There is no index on time: seq order is
-- time order, and pruning takes the old prefix.
CREATE TABLE _rowcast_log (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id  TEXT NOT NULL UNIQUE,
  entity    TEXT NOT NULL,
  operation INTEGER NOT NULL, -- 1 create, 2 update, 4 delete
  fine      TEXT NOT NULL,    -- created, updated, patched, deleted, restored
  topic     TEXT,             -- NULL: the channel event
  subject   TEXT NOT NULL,
  actor     TEXT NOT NULL,
  time      INTEGER NOT NULL, -- microseconds since 1970, UTC
  sent      TEXT NOT NULL,    -- JSON list of field names
  differs   TEXT NOT NULL,    -- JSON list of field names
  origin    TEXT NOT NULL,
  guard     TEXT NOT NULL     -- JSON, cells by field name
) STRICT;

CREATE TABLE _rowcast_secrets (
  name   TEXT PRIMARY KEY,
  secret BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE _rowcast_idempotency (
  principal TEXT NOT NULL,
  key       TEXT NOT NULL,
  request   TEXT NOT NULL,
  result    BLOB NOT NULL,
  created   INTEGER NOT NULL,
  PRIMARY KEY (principal, key)
) STRICT;
CREATE INDEX _rowcast_idempotency_created ON _rowcast_idempotency (created);

-- The last log row that pruning removed.
INSERT INTO _rowcast_meta (name, number, text) VALUES ('floor', 0, '');
