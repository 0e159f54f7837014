-- Gives a row if the file is ours, or nobody's yet. The file of others keeps its kind of journal.
SELECT 1
WHERE NOT EXISTS (SELECT 1 FROM sqlite_schema) OR EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'tenure_migrations')
