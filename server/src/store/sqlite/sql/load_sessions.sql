-- One text, since to hand over rows by themselves, cell by cell, takes several times as long.
SELECT group_concat(json_array(
    opened, id, owner, ttl_ms, disconnect_grace_ms, home, identity, client, declared, metadata
), char(10))
FROM (SELECT * FROM sessions WHERE namespace = ? AND opened > ? ORDER BY opened LIMIT ?)
