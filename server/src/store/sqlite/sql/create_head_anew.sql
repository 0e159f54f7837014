INSERT INTO namespaces (revision, name, database_identity)
VALUES ($1, $2, {identity})
ON CONFLICT DO NOTHING
