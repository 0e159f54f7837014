-- Who opened each session, as was proved.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS identity text; -- NULL: nobody had to prove anything
