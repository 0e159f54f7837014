SELECT MAX(revision), CAST(SUM(bytes) AS SIGNED)
FROM (
    SELECT revision, LENGTH(events) AS bytes FROM batches WHERE namespace = ? AND revision > ? ORDER BY revision LIMIT ?
) AS piece
