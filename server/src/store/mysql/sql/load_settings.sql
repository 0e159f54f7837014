SELECT position, name, permit_limit, settling_ms, drain_ms
FROM settings
WHERE namespace = ? AND position > ?
ORDER BY position LIMIT ?
