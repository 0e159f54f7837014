UPDATE servers SET dead = TRUE WHERE id = ? AND heartbeat = ?
