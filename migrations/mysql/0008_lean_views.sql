-- MySQL 9.7 does not take what one JSON_TABLE gives for another in the same query (error 1210), nor if it has merged a view into it. It
-- merges no query that numbers its rows.

-- What operators have set on locks.
CREATE OR REPLACE VIEW current_settings AS
WITH configured AS (
    SELECT e.*, row_number() OVER (PARTITION BY e.namespace ORDER BY e.revision) AS number
    FROM events_after_rows AS e
    WHERE e.event = 'lock_configured'
),
latest AS (
    SELECT e.*, n.value AS name, row_number() OVER (PARTITION BY e.namespace, CAST(n.value AS BINARY) ORDER BY e.revision DESC) AS recency
    FROM configured AS e, JSON_TABLE(e.names, '$[*]' COLUMNS (value LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS n
)
SELECT
    s.namespace AS namespace,
    s.name AS name,
    s.permit_limit AS permit_limit,
    s.settling_ms AS settling_ms,
    s.drain_ms AS drain_ms
FROM settings AS s
WHERE NOT EXISTS (SELECT 1 FROM latest AS l WHERE l.namespace = s.namespace AND CAST(l.name AS BINARY) = CAST(s.name AS BINARY))
UNION ALL
SELECT l.namespace, l.name, l.permit_limit, l.settling_ms, l.drain_ms
FROM latest AS l
WHERE l.recency = 1 AND (l.permit_limit IS NOT NULL OR l.settling_ms IS NOT NULL);
