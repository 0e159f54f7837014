-- One text, since to hand over rows by themselves, cell by cell, takes several times as long.
SELECT json_group_array(json_array(
    position, name, permit_limit, settling_ms, drain_ms
))
FROM (SELECT * FROM settings WHERE namespace = ? AND position > ? ORDER BY position LIMIT ?)
