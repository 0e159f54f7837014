SELECT
    n.revision,
    coalesce(r.revision, 0),
    CASE
        WHEN n.database_identity = {identity} THEN 1
        WHEN n.name IS NULL AND EXISTS (SELECT 1 FROM tenure_identity WHERE said_by = '' AND database_identity = {identity}) THEN 1
        ELSE 0
    END,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    b.revision, b.previous, b.server, b.number, b.at_ms, b.events
FROM (SELECT 1) AS one
LEFT JOIN namespaces AS n ON n.name = $1
LEFT JOIN row_heads AS r ON r.namespace = n.name
LEFT JOIN (
    SELECT revision, previous FROM batches WHERE namespace = $2 AND revision > $3 ORDER BY revision LIMIT $4
) AS next ON next.previous < $5
LEFT JOIN batches AS b ON b.namespace = n.name AND b.revision = next.revision
