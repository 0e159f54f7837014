INSERT IGNORE INTO namespaces (revision, rows_revision, name, database_identity)
VALUES (?, 0, ?, {identity})
