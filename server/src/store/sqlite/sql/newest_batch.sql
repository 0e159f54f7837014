SELECT revision
FROM batches
WHERE namespace = ? AND revision <= ?
ORDER BY revision DESC LIMIT 1
