UPDATE servers SET heartbeat = ?, lease_ms = ?, label = ?, address = ?, certificate = ?
WHERE id = ? AND NOT dead
