SELECT b.revision, b.previous, b.at_ms, n.rows_revision
FROM batches AS b
JOIN namespaces AS n ON n.name = b.namespace
WHERE b.namespace = ?
ORDER BY b.revision LIMIT ?
