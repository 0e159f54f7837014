SELECT opened, id, owner, ttl_ms, disconnect_grace_ms, home, identity, client, declared, metadata
FROM sessions
WHERE namespace = ? AND opened > ?
ORDER BY opened LIMIT ?
