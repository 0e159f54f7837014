DELETE FROM claims
WHERE id IN (SELECT value FROM json_each(?)) AND namespace = ?
