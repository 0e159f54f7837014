INSERT IGNORE INTO namespaces (revision, rows_revision, name, database_identity)
SELECT ?, 0, ?, database_identity
FROM tenure_identity
WHERE database_identity = said_by AND said_by = {identity}
