DELETE FROM clients
WHERE id IN (SELECT value FROM json_each(?)) AND namespace = ?
