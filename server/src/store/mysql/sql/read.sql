SELECT
    n.revision,
    coalesce(r.revision, 0),
    CASE
        WHEN n.database_identity = {identity} THEN 1
        WHEN n.name IS NULL AND EXISTS (SELECT 1 FROM tenure_identity WHERE database_identity = said_by AND said_by = {identity}) THEN 1
        ELSE 0
    END,
    CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED),
    b.revision, b.previous, b.server, b.number, b.at_ms, b.events
FROM (SELECT 1) AS one
LEFT JOIN namespaces AS n ON n.name = ?
LEFT JOIN row_heads AS r ON r.namespace = n.name
LEFT JOIN (
    SELECT revision, previous FROM batches WHERE namespace = ? AND revision > ? ORDER BY revision LIMIT ?
) AS next ON next.previous < ?
LEFT JOIN batches AS b ON b.namespace = n.name AND b.revision = next.revision
