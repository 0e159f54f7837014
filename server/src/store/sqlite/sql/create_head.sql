INSERT INTO namespaces (revision, rows_revision, name, database_identity)
SELECT $1, 0, $2, {identity}
FROM tenure_identity
WHERE said_by = '' AND database_identity = {identity}
ON CONFLICT DO NOTHING
