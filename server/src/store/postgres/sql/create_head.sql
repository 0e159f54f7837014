INSERT INTO namespaces (revision, name, database_identity)
SELECT $1::bigint, $2::text, database_identity
FROM tenure_identity
WHERE said_by = '' AND database_identity = {identity}
ON CONFLICT DO NOTHING
