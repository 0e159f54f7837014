-- One text, since to hand over rows by themselves, cell by cell, takes several times as long.
SELECT group_concat(json_array(
    position, name, permit_limit, settling_ms, drain_ms
), char(10))
FROM (SELECT * FROM settings WHERE namespace = ? AND position > ? ORDER BY position LIMIT ?)
