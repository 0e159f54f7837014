INSERT INTO tenure_birth (said_by, birth, database_identity)
SELECT {identity}, ?, CASE WHEN COUNT(*) = 0 THEN {identity} ELSE '' END
FROM tenure_birth
ON DUPLICATE KEY UPDATE birth = VALUES(birth)
