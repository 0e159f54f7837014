INSERT IGNORE INTO namespaces (revision, name, database_identity)
SELECT $1, $2, database_identity
FROM tenure_identity
WHERE database_identity = said_by AND said_by = {identity}
