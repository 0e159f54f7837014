-- Returns a row if the file is empty or has Tenure's tables. Other files keep their journal mode.
SELECT 1
WHERE NOT EXISTS (SELECT 1 FROM sqlite_schema) OR EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'tenure_migrations')
