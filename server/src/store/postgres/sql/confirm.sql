-- Writes what changes nothing. When its commit is answered, the standbys that commits wait for have all that there was to see
-- before. Whoever does it at the same time waits for the row, and that has an end.
UPDATE tenure_migrations SET name = name WHERE number = 1
