-- Tenure's fence for SQLite, 3.24 or newer, in any database of yours.
--
-- A process that is paused may write after it has lost its lock. This turns it away: for each name the database keeps the
-- highest fencing token that it has seen, and a transaction that comes with a lower one fails.
--
-- Install:    tenure fence-sql sqlite | sqlite3 -bail your.db     (again whenever you like)
-- Uninstall:  DROP VIEW tenure_fence; DROP TABLE tenure_fences;
--
-- Use: the lock "nightly-report" was granted to you with token 33. First of all in each transaction that the lock protects:
--   BEGIN IMMEDIATE; INSERT INTO tenure_fence (name, token) VALUES ('nightly-report', 33); ...
-- Each time,
--   - if 33 is the highest token seen, the transaction is let in;
--   - if 33 is higher, it is let in, and from then on nobody is let in with a lower one;
--   - if 33 is lower, the statement fails.
-- SQLite has one writer at a time: who is let in holds the write lock of the whole file until the transaction ends, and all
-- other writers wait for that, for as long as PRAGMA busy_timeout says (0 unless set), be their token lower, higher or the same.
-- So a transaction with a higher token sees what those with lower ones have done.
--
-- A name is a text of 1 to 255 bytes, which are compared as they are. All tokens for a name must come from one namespace of one
-- Tenure. A token protects what is done in the transaction that made the call: outside of one it protects nothing. A
-- transaction of a plain BEGIN will do if the call is its first statement. Do not roll back to a savepoint from before it.
--
-- Errors. They end the statement, not the transaction: roll back, never commit after one.
--   SQLITE_CONSTRAINT_TRIGGER (1811), "stale fencing token"
--         Another holder has taken over: end the work. Trying again is in vain. SELECT token FROM tenure_fences WHERE name =
--         'nightly-report' tells the highest one seen (messages of triggers are fixed before SQLite 3.47).
--   SQLITE_CONSTRAINT_TRIGGER (1811), "tenure_fence: ..."
--         The name or the token is out of bounds or of another type.
--   SQLITE_BUSY (5; 517 after a plain BEGIN and a read)
--         Others hold the write lock. Run the transaction again.
-- A row that is deleted is forgotten: delete it only when nobody with an old token for that name can be left.

CREATE TABLE IF NOT EXISTS tenure_fences (
    name TEXT NOT NULL PRIMARY KEY CHECK (typeof(name) = 'text' AND length(CAST(name AS BLOB)) BETWEEN 1 AND 255),
    token INTEGER NOT NULL CHECK (typeof(token) = 'integer' AND token > 0)  -- the highest seen
) WITHOUT ROWID;

-- Takes its trigger along.
DROP VIEW IF EXISTS tenure_fence;

CREATE VIEW tenure_fence AS SELECT name, token FROM tenure_fences;

CREATE TRIGGER tenure_fence_call INSTEAD OF INSERT ON tenure_fence BEGIN
    SELECT RAISE(ABORT, 'tenure_fence: the name must be a text of 1 to 255 bytes')
    WHERE typeof(NEW.name) <> 'text' OR length(CAST(NEW.name AS BLOB)) NOT BETWEEN 1 AND 255;
    SELECT RAISE(ABORT, 'tenure_fence: the token must be an integer of 1 to 9223372036854775807')
    WHERE typeof(NEW.token) <> 'integer' OR NEW.token < 1;
    SELECT RAISE(ABORT, 'stale fencing token')
    FROM tenure_fences AS f
    WHERE f.name = NEW.name AND f.token > NEW.token;
    INSERT INTO tenure_fences (name, token) VALUES (NEW.name, NEW.token)
    ON CONFLICT (name) DO UPDATE SET token = excluded.token WHERE tenure_fences.token < excluded.token;
END;
