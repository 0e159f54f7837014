-- Views for people. They tell the whole truth: the rows, and what the log has after them.

-- The log, one row for each event. Columns that an event has nothing to say about are null. Events of one commit have the
-- same batch: the revision of the last of them.
CREATE VIEW IF NOT EXISTS events AS
SELECT
    b.namespace AS namespace,
    e.value ->> 'revision' AS revision,
    b.revision AS batch,
    b.at_ms AS at_ms,
    b.server AS server,
    e.value ->> 'event' AS event,
    e.value ->> 'claim' AS claim,
    e.value ->> 'token' AS token,
    e.value ->> 'session' AS session,
    e.value ->> 'opened' AS opened,
    e.value ->> 'owner' AS owner,
    e.value -> 'names' AS names,
    coalesce(e.value ->> 'priority', 0) AS priority,
    e.value ->> 'ttl_ms' AS ttl_ms,
    e.value ->> 'disconnect_grace_ms' AS disconnect_grace_ms,
    coalesce(e.value ->> 'min_hold_ms', 0) AS min_hold_ms,
    e.value ->> 'reason' AS reason,
    e.value ->> 'operator' AS operator,
    e.value ->> 'note' AS note,
    coalesce(e.value -> 'metadata', '{}') AS metadata
FROM batches AS b, json_each(b.events) AS e;

-- The events that the rows do not sum up yet.
CREATE VIEW IF NOT EXISTS events_after_rows AS
SELECT e.*
FROM namespaces AS n
JOIN events AS e ON e.namespace = n.name
WHERE e.batch > n.rows_revision;

-- Every claim to every name, one row each, as it is now.
CREATE VIEW IF NOT EXISTS current_claims AS
WITH latest AS (
    SELECT e.*, row_number() OVER (PARTITION BY e.namespace, e.claim ORDER BY e.revision DESC) AS recency
    FROM events_after_rows AS e
    WHERE e.claim IS NOT NULL
)
SELECT
    c.namespace AS namespace,
    c.name AS name,
    c.state AS state,
    c.id AS claim,
    c.token AS token,
    c.session AS session,
    c.owner AS owner,
    c.priority AS priority,
    c.min_hold_ms AS min_hold_ms,
    c.metadata AS metadata
FROM claims AS c
WHERE NOT EXISTS (SELECT 1 FROM latest AS l WHERE l.namespace = c.namespace AND l.claim = c.id)
UNION ALL
SELECT
    l.namespace,
    n.value,
    CASE l.event WHEN 'claim_queued' THEN 'waiting' WHEN 'claim_granted' THEN 'held' ELSE 'lingering' END,
    l.claim,
    l.token,
    l.session,
    l.owner,
    l.priority,
    l.min_hold_ms,
    l.metadata
FROM latest AS l, json_each(l.names) AS n
WHERE l.recency = 1 AND l.event <> 'claim_ended';

-- Who holds what. A lingering lock is held no more, but nobody is granted it before its minimum hold is over.
CREATE VIEW IF NOT EXISTS current_locks AS
SELECT namespace, name, state, token, session, owner, metadata
FROM current_claims
WHERE state <> 'waiting';

-- Who waits for what; place 1 is next.
CREATE VIEW IF NOT EXISTS current_waiters AS
SELECT
    namespace,
    name,
    row_number() OVER (PARTITION BY namespace, name ORDER BY priority DESC, claim) AS place,
    claim,
    session,
    owner,
    priority,
    metadata
FROM current_claims
WHERE state = 'waiting';

-- The open sessions.
CREATE VIEW IF NOT EXISTS current_sessions AS
WITH session_events AS (
    SELECT e.*, row_number() OVER (PARTITION BY e.namespace, e.opened ORDER BY e.revision DESC) AS recency
    FROM events_after_rows AS e
    WHERE e.event IN ('session_opened', 'session_attached', 'session_ended')
),
known AS (
    SELECT namespace, opened, id AS session, owner, ttl_ms, disconnect_grace_ms, metadata FROM sessions
    UNION ALL
    SELECT namespace, opened, session, owner, ttl_ms, disconnect_grace_ms, metadata FROM session_events
    WHERE event = 'session_opened'
)
SELECT
    k.namespace AS namespace,
    k.session AS session,
    k.opened AS opened,
    k.owner AS owner,
    coalesce(l.ttl_ms, k.ttl_ms) AS ttl_ms,
    CASE WHEN l.event IS NULL THEN k.disconnect_grace_ms ELSE l.disconnect_grace_ms END AS disconnect_grace_ms,
    k.metadata AS metadata
FROM known AS k
LEFT JOIN session_events AS l ON l.namespace = k.namespace AND l.opened = k.opened AND l.recency = 1
WHERE l.event IS NULL OR l.event <> 'session_ended';
