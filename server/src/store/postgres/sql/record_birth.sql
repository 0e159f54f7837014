INSERT INTO tenure_birth (said_by, birth, database_identity)
VALUES ('', $1, {identity})
ON CONFLICT (said_by) DO UPDATE SET birth = EXCLUDED.birth
