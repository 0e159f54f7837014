INSERT IGNORE INTO namespaces (revision, rows_revision, name, database_identity)
SELECT $1, 0, $2, database_identity
FROM tenure_identity
WHERE database_identity = said_by AND said_by = {identity}
