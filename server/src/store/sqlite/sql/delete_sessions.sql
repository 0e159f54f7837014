DELETE FROM sessions
WHERE opened IN (SELECT value FROM json_each(?)) AND namespace = ?
