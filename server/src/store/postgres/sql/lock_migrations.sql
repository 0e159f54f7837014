-- A row that others must wait for: any pooler lets it pass.
SET LOCAL statement_timeout = 0;
INSERT INTO tenure_migrations (number, name)
VALUES (0, 'lock')
ON CONFLICT (number) DO UPDATE SET name = 'lock'
