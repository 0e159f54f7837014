SELECT id, heartbeat, lease_ms, label, address, certificate, CASE WHEN dead THEN 1 ELSE 0 END
FROM servers
ORDER BY id
