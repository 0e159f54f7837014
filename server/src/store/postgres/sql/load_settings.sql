SELECT position, name, permit_limit, settling_ms, drain_ms
FROM settings
WHERE namespace = $1 AND position > $2
ORDER BY position LIMIT $3
