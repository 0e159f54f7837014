INSERT INTO tenure_identity (said_by, created_identity, database_identity)
SELECT {identity}, ?, CASE WHEN COUNT(*) = 0 THEN {identity} ELSE '' END
FROM tenure_identity
ON DUPLICATE KEY UPDATE created_identity = VALUES(created_identity)
