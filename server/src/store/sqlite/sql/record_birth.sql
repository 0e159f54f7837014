INSERT INTO tenure_birth (said_by, birth, database_identity)
VALUES ('', ?, {identity})
ON CONFLICT (said_by) DO UPDATE SET birth = excluded.birth
