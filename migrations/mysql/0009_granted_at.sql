-- When each hold was granted, for as long as it lasts, whatever history is dropped.
-- Only for tables made by an earlier version, and by a copy: see 0003_attachments.sql.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'claims' AND column_name = 'granted_at_ms');
SET @change = IF(@missing, 'ALTER TABLE claims ADD COLUMN granted_at_ms BIGINT NULL, ALGORITHM=COPY', 'DO 0');
PREPARE change_claims FROM @change;
EXECUTE change_claims;
DEALLOCATE PREPARE change_claims;

-- Holds that an earlier version wrote: as far as the log still has the grant.
UPDATE claims SET granted_at_ms = (
    SELECT CASE WHEN b.previous < claims.token THEN b.at_ms END
    FROM batches AS b
    WHERE b.namespace = claims.namespace AND b.revision >= claims.token
    ORDER BY b.revision
    LIMIT 1
)
WHERE token IS NOT NULL AND granted_at_ms IS NULL;

-- Every claim to every name, one row each, as it is now. granted_at_ms: the clock of the server that
-- appended the grant, for people; null while waiting.
CREATE OR REPLACE VIEW current_claims AS
WITH latest AS (
    SELECT
        e.*,
        row_number() OVER (PARTITION BY e.namespace, e.claim ORDER BY e.revision DESC) AS recency,
        max(CASE WHEN e.event = 'claim_granted' THEN e.at_ms END) OVER (PARTITION BY e.namespace, e.claim) AS granted_at_ms
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
    c.mode AS mode,
    c.permits AS permits,
    c.min_hold_ms AS min_hold_ms,
    c.metadata AS metadata,
    c.granted_at_ms AS granted_at_ms
FROM claims AS c
WHERE NOT EXISTS (SELECT 1 FROM latest AS l WHERE l.namespace = c.namespace AND l.claim = c.id)
UNION ALL
SELECT
    l.namespace,
    n.value,
    CASE l.event WHEN 'claim_queued' THEN 'waiting' WHEN 'claim_lingering' THEN 'lingering' ELSE 'held' END,
    l.claim,
    l.token,
    l.session,
    l.owner,
    l.priority,
    l.mode,
    l.permits,
    l.min_hold_ms,
    l.metadata,
    coalesce(
        l.granted_at_ms,
        (SELECT c.granted_at_ms FROM claims AS c WHERE c.namespace = l.namespace AND c.id = l.claim AND c.position = 0)
    )
FROM latest AS l, JSON_TABLE(l.names, '$[*]' COLUMNS (value LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS n
WHERE l.recency = 1 AND l.event <> 'claim_ended';

-- Who holds what. A lingering lock is held no more, but nobody is granted it before its minimum hold is over.
-- granted_at: the clock of the server that appended the grant, for people.
CREATE OR REPLACE VIEW current_locks AS
SELECT
    namespace,
    name,
    state,
    token,
    session,
    owner,
    mode,
    permits,
    metadata,
    TIMESTAMP('1970-01-01') + INTERVAL granted_at_ms * 1000 MICROSECOND AS granted_at,
    granted_at_ms
FROM current_claims
WHERE state <> 'waiting';
