-- The delivery queue: one row per event and target, in the order of commits. A
-- delivery that was accepted is no longer there, so the tables are as large as
-- what waits.
CREATE TABLE _rowcast_deliveries (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  id          TEXT NOT NULL,
  target      TEXT NOT NULL,
  topic       TEXT NOT NULL,
  event       TEXT NOT NULL,
  event_id    TEXT NOT NULL,
  entity      TEXT NOT NULL,
  subject     TEXT NOT NULL,
  ordered     INTEGER NOT NULL, -- 1: after all earlier ones of (target, entity, subject)
  created     INTEGER NOT NULL, -- times are microseconds since 1970, UTC
  status      INTEGER NOT NULL, -- 1 pending, 2 claimed, 3 failed
  attempts    INTEGER NOT NULL,
  due         INTEGER NOT NULL,
  turn        INTEGER NOT NULL, -- of the pending: see queue_turn.go
  since       INTEGER NOT NULL, -- of the claimed: when the lease was given
  owner       TEXT NOT NULL,    -- of the claimed; '' otherwise
  epoch       INTEGER NOT NULL,
  last_status INTEGER NOT NULL,
  last_error  TEXT NOT NULL,
  body        BLOB NOT NULL     -- last: what stands behind a long one is slow to read
) STRICT;
CREATE UNIQUE INDEX _rowcast_deliveries_id ON _rowcast_deliveries (id);

-- A row stands in the index of its status alone: a claim walks what is pending
-- of its target, in the order in which it is to go, and nothing else. due lets
-- depths be read without the table.
CREATE INDEX _rowcast_deliveries_pending ON _rowcast_deliveries (target, turn, due) WHERE status = 1;
CREATE INDEX _rowcast_deliveries_claimed ON _rowcast_deliveries (owner, since) WHERE status = 2;
CREATE INDEX _rowcast_deliveries_failed ON _rowcast_deliveries (target, created) WHERE status = 3;
CREATE INDEX _rowcast_deliveries_failed_id ON _rowcast_deliveries (id) WHERE status = 3;

-- What is before a delivery of an ordered target; seq ends every index.
CREATE INDEX _rowcast_deliveries_row ON _rowcast_deliveries (target, entity, subject) WHERE ordered = 1;

-- The attempt log, in the order in which attempts were settled.
CREATE TABLE _rowcast_attempts (
  seq      INTEGER PRIMARY KEY,
  delivery TEXT NOT NULL,
  target   TEXT NOT NULL,
  number   INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  took     INTEGER NOT NULL, -- nanoseconds
  status   INTEGER NOT NULL,
  error    TEXT NOT NULL,
  outcome  INTEGER NOT NULL  -- 1 delivered, 2 retried, 3 given up
) STRICT;
CREATE INDEX _rowcast_attempts_delivery ON _rowcast_attempts (delivery);

-- Who works on the queue.
CREATE TABLE _rowcast_instances (
  owner   TEXT PRIMARY KEY,
  targets TEXT NOT NULL -- JSON list of names
) STRICT, WITHOUT ROWID;

CREATE TABLE _rowcast_turns (
  name  TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
