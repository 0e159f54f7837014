-- Writes what changes nothing. When its commit is answered, the standbys that commits wait for have all that there was to see
-- before. A concurrent caller waits for the row, for a limited time.
UPDATE tenure_migrations SET name = name WHERE number = 1
