SELECT id, epoch, home, identity, last
FROM clients
WHERE namespace = $1 AND id > $2
ORDER BY id LIMIT $3
