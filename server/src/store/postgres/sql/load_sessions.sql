SELECT opened, id, owner, ttl_ms, disconnect_grace_ms, home, identity, client, declared, metadata
FROM sessions
WHERE namespace = $1 AND opened > $2
ORDER BY opened LIMIT $3
