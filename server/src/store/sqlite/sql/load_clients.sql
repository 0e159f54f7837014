-- One text, since to hand over rows by themselves, cell by cell, takes several times as long.
SELECT group_concat(json_array(
    id, epoch, home, identity, last
), char(10))
FROM (SELECT * FROM clients WHERE namespace = ? AND id > ? ORDER BY id LIMIT ?)
