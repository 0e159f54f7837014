DELETE FROM servers
WHERE id IN (SELECT value FROM json_each(?)) AND dead
