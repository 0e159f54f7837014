-- One text, since to hand over rows by themselves, cell by cell, takes several times as long.
SELECT group_concat(json_array(
    group_id, number, session, opened, owner, metadata, assignment, declared
), char(10))
FROM (SELECT * FROM group_members WHERE namespace = ? AND group_id >= ? AND (group_id > ? OR number > ?) ORDER BY group_id, number LIMIT ?)
