SELECT revision
FROM batches
WHERE namespace = $1 AND revision <= $2
ORDER BY revision DESC LIMIT 1
