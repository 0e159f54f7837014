SELECT MAX(revision), CAST(SUM(bytes) AS bigint)
FROM (
    SELECT revision, octet_length(events) AS bytes FROM batches WHERE namespace = $1 AND revision > $2 ORDER BY revision LIMIT $3
) AS piece
