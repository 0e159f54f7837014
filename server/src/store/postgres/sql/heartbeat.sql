UPDATE servers SET heartbeat = $1, lease_ms = $2, label = $3, address = $4, certificate = $5
WHERE id = $6 AND NOT dead
