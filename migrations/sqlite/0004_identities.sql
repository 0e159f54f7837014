-- Who opened each session, as was proved.
ALTER TABLE sessions ADD COLUMN identity TEXT; -- NULL: nobody had to prove anything
