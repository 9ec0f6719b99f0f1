-- The change log: one row per (change, topic). Numbers are drawn one at a time
-- and at the end of each transaction, so they are nearly in commit order; how
-- it is read all the same without a loss is in barrier.go.
CREATE TABLE _rowcast_log (
  seq       bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY,
  event_id  text COLLATE "C" NOT NULL UNIQUE,
  entity    text NOT NULL,
  operation bigint NOT NULL,  -- 1 create, 2 update, 4 delete
  fine      text NOT NULL,    -- created, updated, patched, deleted, restored
  topic     text NOT NULL,    -- empty: the channel event
  subject   text NOT NULL,
  actor     text NOT NULL,
  time      timestamptz NOT NULL,
  sent      text NOT NULL,    -- JSON list of field names
  differs   text NOT NULL,    -- JSON list of field names
  origin    text NOT NULL,
  guard     text NOT NULL     -- JSON, cells by field name
);

CREATE TABLE _rowcast_secrets (
  name   text COLLATE "C" PRIMARY KEY,
  secret bytea NOT NULL
);

CREATE TABLE _rowcast_idempotency (
  principal text COLLATE "C" NOT NULL,
  key       text COLLATE "C" NOT NULL,
  request   text NOT NULL,
  result    bytea NOT NULL,
  created   timestamptz NOT NULL,
  PRIMARY KEY (principal, key)
);
CREATE INDEX _rowcast_idempotency_created ON _rowcast_idempotency (created);

-- The last log row that pruning removed.
INSERT INTO _rowcast_meta (name, number, text) VALUES ('floor', 0, '');
