SELECT b.revision, b.previous, b.at_ms, coalesce(r.revision, 0)
FROM batches AS b
LEFT JOIN row_heads AS r ON r.namespace = b.namespace
WHERE b.namespace = ?
ORDER BY b.revision LIMIT ?
