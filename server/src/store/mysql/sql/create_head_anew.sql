INSERT IGNORE INTO namespaces (revision, rows_revision, name, database_identity)
VALUES ($1, 0, $2, {identity})
