INSERT INTO servers (heartbeat, lease_ms, label, address, certificate, id, dead)
VALUES ($1, $2, $3, $4, $5, $6, FALSE)
ON CONFLICT DO NOTHING
