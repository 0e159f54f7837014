INSERT IGNORE INTO namespaces (revision, name, database_identity)
VALUES ($1, $2, {identity})
