INSERT IGNORE INTO servers (heartbeat, lease_ms, label, address, certificate, id, dead)
VALUES (?, ?, ?, ?, ?, ?, FALSE)
