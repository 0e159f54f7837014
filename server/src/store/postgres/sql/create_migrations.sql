CREATE TABLE IF NOT EXISTS tenure_migrations (number bigint NOT NULL PRIMARY KEY, name text NOT NULL)
