INSERT INTO tenure_migrations (number, name) VALUES ($1, $2)
