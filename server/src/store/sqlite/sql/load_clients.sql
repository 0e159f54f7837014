-- One text, since to hand over rows by themselves, cell by cell, takes several times as long.
SELECT json_group_array(json_array(
    id, epoch, home, identity, last
))
FROM (SELECT * FROM clients WHERE namespace = ? AND id > ? ORDER BY id LIMIT ?)
