UPDATE servers SET dead = TRUE WHERE id = $1 AND heartbeat = $2
