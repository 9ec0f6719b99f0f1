package postgres

import "time"

// Transactions that append end by themselves when their instance hangs: all
// others wait for their numbers.
const idleLimit = "10s"

// statements is the SQL of the system tables of one namespace.
type statements struct {
	log, meta, secrets, records string // tables

	logInsert, logSelect                      string
	head, upto, floor, lockFloor, find, at    string
	prefix, pruneLog, moveFloor, pruneRecords string
	recall, remember, lockKey                 string
	secret, keepSecret                        string
	refill, written                           string

	queue queueStatements
}

// logSelect hides its number and its limit in subqueries. The planner, which
// would have a better plan for each number, then finds one plan as good as any
// and keeps it: planning costs more than a look. And it takes a limit that it
// cannot see for a tenth of what there is, so that it goes by the index however
// few rows there were when it made the plan. It would else have sorted the whole
// log at each look, until the server next counts its rows.

// now is the database's clock, or a test's where one is given as $n.
const (
	clock = "coalesce($3::timestamptz, clock_timestamp())"
	day   = "interval '24 hours'"
)

func newStatements(ns string) statements {
	log, meta := ns+"_rowcast_log", ns+"_rowcast_meta"
	secrets, records := ns+"_rowcast_secrets", ns+"_rowcast_idempotency"
	columns := "event_id, entity, operation, fine, topic, subject, actor, time, sent, differs, origin, guard"
	return statements{
		log: log, meta: meta, secrets: secrets, records: records,
		logInsert: "INSERT INTO " + log + " (" + columns + `) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[],
			$5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::text[], $10::text[], $11::text[], $12::text[]) RETURNING seq`,
		logSelect: "SELECT seq, " + columns + " FROM " + log + " WHERE seq > (SELECT $1::bigint) ORDER BY seq LIMIT (SELECT $2::bigint)",
		head:      "SELECT seq, event_id FROM " + log + " ORDER BY seq DESC LIMIT 1",
		upto:      "SELECT seq, event_id FROM " + log + " WHERE seq <= $1 ORDER BY seq DESC LIMIT 1",
		floor:     "SELECT number, text FROM " + meta + " WHERE name = 'floor'",
		lockFloor: "SELECT number, text FROM " + meta + " WHERE name = 'floor' FOR UPDATE SKIP LOCKED",
		find:      "SELECT seq, event_id FROM " + log + " WHERE event_id = $1",
		at:        "SELECT seq, event_id FROM " + log + " WHERE seq = $1",
		prefix:    "SELECT seq, event_id, time < $1 FROM " + log + " WHERE seq <= $2 ORDER BY seq LIMIT $3",
		pruneLog:  "DELETE FROM " + log + " WHERE seq <= $1",
		moveFloor: "UPDATE " + meta + " SET number = $1, text = $2 WHERE name = 'floor'",
		pruneRecords: "DELETE FROM " + records + " WHERE (principal, key) IN (SELECT principal, key FROM " + records +
			" WHERE created < coalesce($1::timestamptz, clock_timestamp()) - " + day + " ORDER BY created LIMIT $2 FOR UPDATE SKIP LOCKED)",
		recall: "SELECT request, result, created FROM " + records + " WHERE principal = $1 AND key = $2 AND created >= " + clock + " - " + day,
		remember: "INSERT INTO " + records + " AS r (principal, key, created, request, result) VALUES ($1, $2, " + clock + ", $4, $5)" +
			" ON CONFLICT (principal, key) DO UPDATE SET created = excluded.created, request = excluded.request, result = excluded.result" +
			" WHERE r.created < " + clock + " - " + day,
		lockKey:    "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
		secret:     "SELECT secret FROM " + secrets + " WHERE name = $1",
		keepSecret: "INSERT INTO " + secrets + " (name, secret) VALUES ($1, $2) ON CONFLICT DO NOTHING",
		refill:     "SELECT l.seq FROM " + log + " l JOIN unnest($1::bigint[], $2::bigint[]) AS g(lo, hi) ON l.seq BETWEEN g.lo AND g.hi",
		queue:      newQueueStatements(ns),
		written:    "SELECT EXISTS (SELECT 1 FROM " + log + " WHERE event_id = $1)",
	}
}

// view begins a snapshot, now rather than at its first read, after what the
// caller knows to be committed may have changed again.
func (statements) view(limit time.Duration) string {
	return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = " + millis(limit) +
		"; SET LOCAL idle_in_transaction_session_timeout = " + millis(limit+grace) + "; SELECT 1"
}

// begin begins a transaction that may append.
func (statements) begin(limit time.Duration) []statement {
	return []statement{
		{sql: "BEGIN ISOLATION LEVEL READ COMMITTED"},
		{
			sql:  "SELECT set_config('statement_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true)",
			args: []any{millis(limit), idleLimit},
		},
	}
}
