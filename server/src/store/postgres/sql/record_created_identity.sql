INSERT INTO tenure_identity (said_by, created_identity, database_identity)
VALUES ('', $1, {identity})
ON CONFLICT (said_by) DO UPDATE SET created_identity = EXCLUDED.created_identity
