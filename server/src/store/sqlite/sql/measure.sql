SELECT MAX(revision), CAST(SUM(bytes) AS INTEGER)
FROM (
    SELECT revision, octet_length(events) AS bytes FROM batches WHERE namespace = ? AND revision > ? ORDER BY revision LIMIT ?
) AS piece
