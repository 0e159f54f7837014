UPDATE servers SET beat = ?, lease_ms = ?, label = ?, address = ?, certificate = ?
WHERE id = ? AND NOT dead
