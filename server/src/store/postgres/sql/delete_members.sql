-- An array in the database's own form lets it look into the index, whatever it knows about the table.
DELETE FROM group_members
WHERE group_id = ANY (translate($1, '[]', '{}')::bigint[]) AND namespace = $2
