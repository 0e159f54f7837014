INSERT INTO tenure_migrations (number, name) VALUES (?, ?)
