-- One text, since to hand over rows by themselves, cell by cell, takes several times as long.
SELECT group_concat(json_array(
    id, position, name, state, token, session, opened, owner, priority, min_hold_ms, home, mode, permits,
    permit_limit, transfer_to, transfer_started, drain_ms, waiting_server, metadata, granted_at_ms, declared
), char(10))
FROM (SELECT * FROM claims WHERE namespace = ? AND id >= ? AND (id > ? OR position > ?) ORDER BY id, position LIMIT ?)
