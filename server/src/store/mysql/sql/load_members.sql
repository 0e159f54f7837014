SELECT group_id, number, session, opened, owner, metadata, assignment, declared
FROM group_members
WHERE namespace = ? AND group_id >= ? AND (group_id > ? OR number > ?)
ORDER BY group_id, number LIMIT ?
