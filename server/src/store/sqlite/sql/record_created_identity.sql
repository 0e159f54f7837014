INSERT INTO tenure_identity (said_by, created_identity, database_identity)
VALUES ('', ?, {identity})
ON CONFLICT (said_by) DO UPDATE SET created_identity = excluded.created_identity
