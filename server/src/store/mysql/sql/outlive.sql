UPDATE servers SET dead = TRUE WHERE id <> ? AND NOT dead
