UPDATE servers SET dead = TRUE WHERE id = $1 AND beat = $2
