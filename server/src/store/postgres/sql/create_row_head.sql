INSERT INTO row_heads (namespace, revision, lost_revision)
VALUES ($1, 0, 0)
ON CONFLICT DO NOTHING
