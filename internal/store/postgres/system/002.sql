-- The delivery queue: a row for each event and target that wants it, removed
-- when it was accepted. It is written and removed all the time, so it is
-- vacuumed early and without pauses, and each index holds only the rows that
-- somebody looks for by it.
CREATE TABLE _rowcast_deliveries (
  -- Drawn one at a time and after the lock of the changed row, so the deliveries
  -- of one row are numbered in the order of its changes.
  seq         bigint GENERATED ALWAYS AS IDENTITY (CACHE 1),
  id          text COLLATE "C" PRIMARY KEY,
  target      text COLLATE "C" NOT NULL,
  topic       text NOT NULL,
  event       text NOT NULL,
  event_id    text NOT NULL,
  entity      text COLLATE "C" NOT NULL,
  subject     text COLLATE "C" NOT NULL,
  ordered     boolean NOT NULL,
  -- An earlier one of its row is surely there: nobody need look at it. false
  -- says nothing. Only ordered ones are.
  behind      boolean NOT NULL DEFAULT false,
  body        bytea NOT NULL,
  created     timestamptz NOT NULL,
  status      smallint NOT NULL,  -- 1 pending, 2 claimed, 3 failed
  attempts    integer NOT NULL DEFAULT 0,
  due         timestamptz NOT NULL,
  last_status integer NOT NULL DEFAULT 0,
  last_error  text NOT NULL DEFAULT '',
  owner       text COLLATE "C" NOT NULL DEFAULT '',
  epoch       bigint NOT NULL DEFAULT 0,
  leased      timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = 50000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 20000);
ALTER TABLE _rowcast_deliveries ALTER body SET STORAGE EXTERNAL;  -- compressing it costs more than it saves

CREATE INDEX _rowcast_deliveries_lane ON _rowcast_deliveries (target, due, seq) WHERE status = 1 AND NOT ordered;
CREATE INDEX _rowcast_deliveries_ordered_lane ON _rowcast_deliveries (target, behind, seq, due) WHERE status = 1 AND ordered;
CREATE INDEX _rowcast_deliveries_ordered_due ON _rowcast_deliveries (target, due, seq) WHERE status = 1 AND ordered AND NOT behind;
CREATE INDEX _rowcast_deliveries_row ON _rowcast_deliveries (target, entity, subject, seq) WHERE ordered;
CREATE INDEX _rowcast_deliveries_owner ON _rowcast_deliveries (owner, target) WHERE status = 2;
CREATE INDEX _rowcast_deliveries_failed ON _rowcast_deliveries (id, target) WHERE status = 3;

-- The processes that work on the queue.
CREATE TABLE _rowcast_instances (
  owner   text COLLATE "C" PRIMARY KEY,
  targets text[] NOT NULL,
  lease   bigint NOT NULL,  -- microseconds
  expires timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Leases by name: of a fleet one has its turn.
CREATE TABLE _rowcast_turns (
  name    text COLLATE "C" PRIMARY KEY,
  owner   text NOT NULL,
  expires timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The attempt log. A lease ends in one attempt at most, so its epoch numbers it.
CREATE TABLE _rowcast_attempts (
  delivery text COLLATE "C" NOT NULL,
  epoch    bigint NOT NULL,
  target   text NOT NULL,
  number   integer NOT NULL,
  at       timestamptz NOT NULL,
  took     bigint NOT NULL,   -- nanoseconds
  status   integer NOT NULL,  -- 0: no answer
  error    text NOT NULL,
  outcome  smallint NOT NULL, -- 1 delivered, 2 retried, 3 given up
  PRIMARY KEY (delivery, epoch)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX _rowcast_attempts_at ON _rowcast_attempts (at);
