INSERT IGNORE INTO servers (beat, lease_ms, label, address, certificate, id, dead)
VALUES (?, ?, ?, ?, ?, ?, FALSE)
