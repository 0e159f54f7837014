SELECT group_id, number, session, opened, owner, metadata, assignment, declared
FROM group_members
WHERE namespace = $1 AND group_id >= $2 AND (group_id > $3 OR number > $4)
ORDER BY group_id, number LIMIT $5
