package postgres

import (
	"fmt"
	"strings"
)

// queueStatements is the SQL of the queue's tables of one namespace.
type queueStatements struct {
	enqueue, enqueueOrdered               string
	claim, claimOrdered, claimOne, floors string
	next, held                            string
	settle, settled, free, lift           string
	enlist, mend, renew, resign, release  string
	sweepOwners, sweepDead, sweepTargets  string
	turn                                  string
	listFailed, listLive, depths          string
	attempts, pruneAttempts               string
	moveIDs, moveRange, requeue, skip     string
}

// earlier finds an earlier delivery of the row of d, in whatever state. Numbers
// are drawn under the lock of the row and no delivery comes back once it is
// gone, so an answer of none stays true, however old the snapshot is. OFFSET 0
// keeps it a look at the index for each d: as a join it might read the whole table.
const earlier = `SELECT 1 FROM {d} e WHERE e.target = d.target AND e.entity = d.entity AND e.subject = d.subject AND e.ordered AND e.seq < d.seq OFFSET 0`

// lease leases the rows that "found" names to $1.
const lease = ` UPDATE {d} d SET status = 2, owner = $1, epoch = d.epoch + 1, leased = clock_timestamp()
	WHERE d.id = ANY(ARRAY(SELECT id FROM found)) RETURNING `

// insertColumns are those that Enqueue gives.
const insertColumns = `id, target, topic, event, event_id, entity, subject, ordered, body, created, owner`

func newQueueStatements(ns string) (q queueStatements) {
	names := strings.NewReplacer("{d}", ns+"_rowcast_deliveries", "{i}", ns+"_rowcast_instances", "{t}", ns+"_rowcast_turns", "{a}", ns+"_rowcast_attempts",
		"{whole}", fmt.Sprintf(deliveryColumns, "d.body"), "{bodiless}", fmt.Sprintf(deliveryColumns, "NULL::bytea"), "{earlier}", earlier, "{moved}", "d.id, d.status, d.ordered, d.seq, d.target, d.entity, d.subject")
	sql := func(text string) string { return names.Replace(names.Replace(text)) }
	for _, set := range []func(func(string) string){q.enqueues, q.claims, q.settles, q.leases, q.operates, q.moves} {
		set(sql)
	}
	return q
}

// enqueues sets what puts deliveries into the queue.
func (q *queueStatements) enqueues(sql func(string) string) {
	insert := `INSERT INTO {d} (` + insertColumns + `, status, due, epoch, leased, behind)
		SELECT ` + insertColumns + `, CASE owner WHEN '' THEN 1 ELSE 2 END, clock_timestamp(), CASE owner WHEN '' THEN 0 ELSE 1 END,
			CASE owner WHEN '' THEN NULL ELSE clock_timestamp() END, `
	given := ` FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bool[], $9::bytea[],
			$10::timestamptz[], $11::text[], $12::bool[]) AS g(` + insertColumns + `, after)`
	q.enqueue = sql(insert + `false` + given)
	// The one that it stands behind is locked against removal until this commits:
	// whoever removes it then finds this one, and lets it go on. One that somebody
	// holds may be about to go, and counts for none.
	q.enqueueOrdered = sql(insert + `ordered AND (after OR EXISTS (SELECT 1 FROM (SELECT 1 FROM {d} e WHERE e.target = g.target
			AND e.entity = g.entity AND e.subject = g.subject AND e.ordered ORDER BY e.seq LIMIT 1 FOR KEY SHARE SKIP LOCKED) first))` + given)
}

// claims sets what takes them out and tells of them.
func (q *queueStatements) claims(sql func(string) string) {
	q.claim = sql(`WITH found AS MATERIALIZED (SELECT d.id FROM {d} d WHERE d.target = $2 AND d.status = 1 AND NOT d.ordered
			AND d.due >= $4 AND d.due <= (SELECT clock_timestamp()) ORDER BY d.due, d.seq LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED)` + lease + `{whole}`)
	q.claimOrdered = sql(`WITH found AS MATERIALIZED (SELECT d.id FROM {d} d WHERE d.target = $2 AND d.status = 1 AND d.ordered AND NOT d.behind
			AND d.seq >= $4 AND d.due <= (SELECT clock_timestamp()) AND NOT EXISTS ({earlier})
			ORDER BY d.seq LIMIT $3 FOR NO KEY UPDATE OF d SKIP LOCKED)` + lease + `{whole}`)
	q.claimOne = sql(`WITH found AS MATERIALIZED (SELECT d.id FROM {d} d WHERE d.id = $3 AND d.target = $2 AND d.status = 1
			AND NOT (d.ordered AND EXISTS ({earlier})) FOR NO KEY UPDATE OF d SKIP LOCKED)` + lease + `{whole}`)
	q.floors = sql(`SELECT clock_timestamp(),
			(SELECT d.due FROM {d} d WHERE d.target = $1 AND d.status = 1 AND NOT d.ordered ORDER BY d.due LIMIT 1),
			(SELECT d.seq FROM {d} d WHERE d.target = $1 AND d.status = 1 AND d.ordered AND NOT d.behind ORDER BY d.seq LIMIT 1)`)
	q.next = sql(`SELECT l.target, extract(epoch FROM l.due - clock_timestamp())::float8 FROM (
			SELECT l.target, (SELECT d.due FROM {d} d WHERE d.target = l.target AND d.status = 1 AND NOT d.ordered AND d.due >= l.floor ORDER BY d.due LIMIT 1)
				FROM unnest($1::text[], $2::timestamptz[]) AS l(target, floor)
			UNION ALL
			SELECT l.target, (SELECT d.due FROM {d} d WHERE d.target = l.target AND d.status = 1 AND d.ordered AND NOT d.behind
				AND NOT EXISTS ({earlier}) ORDER BY d.due LIMIT 1)
				FROM unnest($1::text[]) AS l(target)) AS l(target, due) WHERE l.due IS NOT NULL`)
	q.held = sql(`SELECT {whole} FROM {d} d WHERE d.status = 2 AND d.owner = $1 AND d.leased <= clock_timestamp() - $2::bigint * interval '1 microsecond' LIMIT $3`)
}

// settles sets what ends a lease.
func (q *queueStatements) settles(sql func(string) string) {
	q.settle = sql(settleSQL)
	q.settled = sql(`SELECT a.delivery, a.epoch FROM unnest($1::text[], $2::bigint[]) AS g(id, epoch) JOIN {a} a ON a.delivery = g.id AND a.epoch = g.epoch WHERE a.delivery = ANY($1)`)
	q.free = sql(`WITH found AS MATERIALIZED (SELECT d.id FROM {d} d WHERE d.id = ANY($2::text[]) AND d.status = 2 AND d.owner = $1
			AND (d.id, d.epoch) IN (SELECT * FROM unnest($2::text[], $3::bigint[]) OFFSET 0) ORDER BY d.id FOR NO KEY UPDATE) ` + freeFound + ` RETURNING d.target, d.ordered, d.seq`)
	q.lift = sql(`UPDATE {d} d SET behind = false WHERE d.behind AND d.id = ANY(ARRAY(SELECT (SELECT e.id FROM {d} e WHERE e.target = g.target AND e.entity = g.entity
			AND e.subject = g.subject AND e.ordered ORDER BY e.seq LIMIT 1) AS id FROM unnest($1::text[], $2::text[], $3::text[]) AS g(target, entity, subject)))
			RETURNING d.target, d.seq`)
}

// leases sets what is about instances and their turns.
func (q *queueStatements) leases(sql func(string) string) {
	q.enlist = sql(`INSERT INTO {i} (owner, targets, lease, expires) VALUES ($1, $2, $3, clock_timestamp() + $3::bigint * interval '1 microsecond')`)
	q.mend = sql(`WITH step AS MATERIALIZED (SELECT d.id, d.seq, EXISTS ({earlier}) AS waits FROM {d} d WHERE d.status = 1 AND d.ordered AND d.behind
			AND d.target = $1 AND d.seq > $2 ORDER BY d.seq LIMIT $3),
		freed AS (UPDATE {d} d SET behind = false WHERE d.id = ANY(ARRAY(SELECT d.id FROM {d} d WHERE d.id = ANY(ARRAY(SELECT id FROM step WHERE NOT waits))
			FOR NO KEY UPDATE SKIP LOCKED)))
		SELECT count(*), coalesce(max(seq), 0) FROM step`)
	q.renew = sql(`UPDATE {i} SET expires = clock_timestamp() + lease * interval '1 microsecond' WHERE owner = $1 AND expires > clock_timestamp()`)
	q.resign = sql(`DELETE FROM {i} WHERE owner = $1`)
	q.release = sql(`WITH found AS MATERIALIZED (SELECT d.id FROM {d} d WHERE d.id = ANY(ARRAY(
			SELECT d.id FROM {d} d WHERE d.status = 2 AND d.owner = $1)) AND d.status = 2 AND d.owner = $1 ORDER BY d.id FOR NO KEY UPDATE) ` +
		freeFound + ` RETURNING d.target, d.ordered, d.seq`)
	q.sweepOwners = sql(sweepOwnersSQL)
	q.sweepDead = sql(`DELETE FROM {i} WHERE owner = ANY(ARRAY(SELECT i.owner FROM {i} i WHERE i.expires <= clock_timestamp()
			AND NOT EXISTS (SELECT 1 FROM {d} d WHERE d.status = 2 AND d.owner = i.owner OFFSET 0) FOR UPDATE SKIP LOCKED))`)
	q.sweepTargets = sql(sweepTargetsSQL)
	q.turn = sql(`INSERT INTO {t} AS t (name, owner, expires) VALUES ($1, $2, clock_timestamp() + $3::bigint * interval '1 microsecond')
			ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires = excluded.expires WHERE t.expires <= clock_timestamp()`)
}

// operates sets what operators read.
func (q *queueStatements) operates(sql func(string) string) {
	q.listFailed = sql(`SELECT {bodiless} FROM {d} d WHERE d.status = 3 AND ($1 = '' OR d.target = $1) AND d.id > $2 ORDER BY d.id LIMIT $3`)
	q.listLive = sql(`SELECT {bodiless} FROM {d} d WHERE d.status <> 3 AND ($4 = 0 OR d.status = $4) AND ($1 = '' OR d.target = $1)
			AND d.id > $2 ORDER BY d.id LIMIT $3`)
	q.depths = sql(depthsSQL)
	q.attempts = sql(`SELECT delivery, target, number, at, took, status, error, outcome FROM {a} WHERE delivery = $1 ORDER BY epoch`)
	q.pruneAttempts = sql(`DELETE FROM {a} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {a} WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))`)
}

// moves sets what operators move.
func (q *queueStatements) moves(sql func(string) string) {
	q.moveIDs = sql(`SELECT {moved} FROM {d} d WHERE d.id = ANY($1) ORDER BY d.id FOR UPDATE`)
	q.moveRange = sql(`SELECT {moved} FROM {d} d WHERE d.status = 3 AND d.target = $1 AND ($2::timestamptz IS NULL OR d.created >= $2)
			AND ($3::timestamptz IS NULL OR d.created < $3) ORDER BY d.id LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED`)
	q.requeue = sql(`UPDATE {d} d SET status = 1, attempts = 0, behind = g.behind, due = (SELECT clock_timestamp()) + g.wait * interval '1 microsecond'
			FROM unnest($1::text[], $2::bigint[], $3::bool[]) AS g(id, wait, behind) WHERE d.id = g.id AND d.id = ANY($1) RETURNING d.target, d.ordered, d.seq`)
	q.skip = sql(`DELETE FROM {d} d WHERE d.id = ANY($1::text[])`)
}

const freeFound = `UPDATE {d} d SET status = 1, owner = '', leased = NULL, due = clock_timestamp() WHERE d.id = ANY(ARRAY(SELECT id FROM found))`

// settleSQL settles what is still leased to $1, and logs the attempts of that.
const settleSQL = `WITH given AS MATERIALIZED (SELECT * FROM unnest($2::text[], $3::bigint[], $4::smallint[], $5::bigint[], $6::timestamptz[],
		$7::bigint[], $8::integer[], $9::text[]) AS g(id, epoch, outcome, wait, at, took, status, error)),
	mine AS MATERIALIZED (SELECT d.id, d.epoch, d.target, d.ordered, d.seq, d.attempts, d.entity, d.subject FROM {d} d
		WHERE d.id = ANY($2::text[]) AND d.status = 2 AND d.owner = $1 ORDER BY d.id FOR UPDATE),
	held AS MATERIALIZED (SELECT g.*, d.target, d.ordered, d.seq, d.attempts + 1 AS number,
			CASE WHEN d.ordered THEN d.entity END AS entity, CASE WHEN d.ordered THEN d.subject END AS subject
		FROM mine d JOIN given g ON g.id = d.id AND g.epoch = d.epoch),
	gone AS (DELETE FROM {d} d WHERE d.id = ANY(ARRAY(SELECT id FROM held WHERE outcome = 1))),
	kept AS (UPDATE {d} d SET status = CASE h.outcome WHEN 2 THEN 1 ELSE 3 END, attempts = h.number, last_status = h.status, last_error = h.error,
			owner = '', leased = NULL, due = clock_timestamp() + h.wait * interval '1 microsecond'
		FROM held h WHERE d.id = h.id AND d.id = ANY(ARRAY(SELECT id FROM held WHERE outcome <> 1))),
	logged AS (INSERT INTO {a} (delivery, epoch, target, number, at, took, status, error, outcome)
		SELECT id, epoch, target, number, at, took, status, error, outcome FROM held)
	SELECT id, outcome, target, ordered, seq, entity, subject FROM held`

// sweepOwnersSQL frees up to $1 deliveries of owners that are not registered, or
// not any more. An instance whose lease has run out is locked first: one that is
// being renewed at this moment is not dead. Nobody is waited for: a process that
// was stopped in the middle of a statement may hold its locks for hours, and one
// that has been out for as long as a renewal can take is dead, locked or not. The
// owners are found by leaps, one look at the index each.
const sweepOwnersSQL = `WITH RECURSIVE expired AS MATERIALIZED (SELECT owner FROM {i} WHERE expires <= clock_timestamp() ORDER BY owner FOR UPDATE SKIP LOCKED),
	dead AS MATERIALIZED (SELECT owner FROM expired UNION SELECT owner FROM {i} WHERE expires <= clock_timestamp() - interval '15 seconds'),
	owners AS ((SELECT d.owner FROM {d} d WHERE d.status = 2 ORDER BY d.owner LIMIT 1) UNION ALL
		SELECT (SELECT d.owner FROM {d} d WHERE d.status = 2 AND d.owner > o.owner ORDER BY d.owner LIMIT 1) FROM owners o WHERE o.owner IS NOT NULL),
	gone AS MATERIALIZED (SELECT o.owner FROM owners o WHERE o.owner IS NOT NULL
		AND (o.owner IN (SELECT owner FROM dead) OR NOT EXISTS (SELECT 1 FROM {i} i WHERE i.owner = o.owner))),
	picked AS MATERIALIZED (SELECT h.id FROM gone g, LATERAL (SELECT d.id FROM {d} d WHERE d.status = 2 AND d.owner = g.owner LIMIT $1) h LIMIT $1),
	found AS MATERIALIZED (SELECT d.id FROM {d} d WHERE d.id = ANY(ARRAY(SELECT id FROM picked)) AND d.status = 2 AND d.owner = ANY(ARRAY(SELECT owner FROM gone))
		ORDER BY d.id FOR NO KEY UPDATE SKIP LOCKED) ` + freeFound + ` RETURNING d.target, d.ordered, d.seq`

// sweepTargetsSQL fails up to $1 pending deliveries of targets that no living
// instance declares. While none lives at all, nobody can say what is declared.
const sweepTargetsSQL = `WITH RECURSIVE
	plain AS ((SELECT d.target FROM {d} d WHERE d.status = 1 AND NOT d.ordered ORDER BY d.target LIMIT 1) UNION ALL
		SELECT (SELECT d.target FROM {d} d WHERE d.status = 1 AND NOT d.ordered AND d.target > p.target ORDER BY d.target LIMIT 1) FROM plain p WHERE p.target IS NOT NULL),
	ordered AS ((SELECT d.target FROM {d} d WHERE d.status = 1 AND d.ordered ORDER BY d.target LIMIT 1) UNION ALL
		SELECT (SELECT d.target FROM {d} d WHERE d.status = 1 AND d.ordered AND d.target > o.target ORDER BY d.target LIMIT 1) FROM ordered o WHERE o.target IS NOT NULL),
	living AS MATERIALIZED (SELECT targets FROM {i} WHERE expires > clock_timestamp()),
	declared AS MATERIALIZED (SELECT unnest(targets) AS target FROM living),
	picked AS MATERIALIZED (
		(SELECT h.id FROM plain p, LATERAL (SELECT d.id FROM {d} d WHERE d.status = 1 AND NOT d.ordered AND d.target = p.target LIMIT $1) h
			WHERE p.target IS NOT NULL AND p.target NOT IN (SELECT target FROM declared) LIMIT $1)
		UNION ALL
		(SELECT h.id FROM ordered o, LATERAL (SELECT d.id FROM {d} d WHERE d.status = 1 AND d.ordered AND d.target = o.target LIMIT $1) h
			WHERE o.target IS NOT NULL AND o.target NOT IN (SELECT target FROM declared) LIMIT $1)),
	found AS MATERIALIZED (SELECT d.id FROM {d} d WHERE d.id = ANY(ARRAY(SELECT id FROM picked LIMIT $1)) AND d.status = 1 AND EXISTS (SELECT 1 FROM living)
		ORDER BY d.id FOR NO KEY UPDATE SKIP LOCKED)
	UPDATE {d} d SET status = 3, last_error = $2 WHERE d.id = ANY(ARRAY(SELECT id FROM found))`

// depthsSQL counts each state by its index.
const depthsSQL = `SELECT d.target, 1, count(*), 0, min(d.due) FROM {d} d WHERE d.status = 1 AND NOT d.ordered GROUP BY d.target
	UNION ALL SELECT d.target, 1, count(*), count(*) FILTER (WHERE d.behind OR EXISTS ({earlier})), min(d.due)
		FROM {d} d WHERE d.status = 1 AND d.ordered GROUP BY d.target
	UNION ALL SELECT d.target, 2, count(*), 0, NULL FROM {d} d WHERE d.status = 2 GROUP BY d.target
	UNION ALL SELECT d.target, 3, count(*), 0, NULL FROM {d} d WHERE d.status = 3 GROUP BY d.target`
