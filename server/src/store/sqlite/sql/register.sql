INSERT INTO servers (beat, lease_ms, label, address, certificate, id, dead)
VALUES (?, ?, ?, ?, ?, ?, FALSE)
ON CONFLICT DO NOTHING
