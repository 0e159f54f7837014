INSERT IGNORE INTO row_heads (namespace, revision, lost_revision)
VALUES (?, 0, 0)
