DELETE FROM member_groups
WHERE id IN (SELECT value FROM json_each(?)) AND namespace = ?
