DELETE FROM group_members
WHERE group_id IN (SELECT value FROM json_each(?)) AND namespace = ?
