SELECT id, epoch, home, identity, last
FROM clients
WHERE namespace = ? AND id > ?
ORDER BY id LIMIT ?
