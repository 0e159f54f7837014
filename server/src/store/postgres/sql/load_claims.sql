SELECT
    id, position, name, state, token, session, opened, owner, priority, min_hold_ms, home, mode, permits,
    permit_limit, transfer_to, transfer_started, drain_ms, waiting_server, metadata, granted_at_ms, declared
FROM claims
WHERE namespace = $1 AND id >= $2 AND (id > $3 OR position > $4)
ORDER BY id, position LIMIT $5
