-- Tenure's fence for PostgreSQL, 13 or newer, in any database of yours.
--
-- A process that is paused may write after it has lost its lock. This turns it away: for each name the database keeps the
-- highest fencing token that it has seen, and a transaction that comes with a lower one fails.
--
-- Install:    tenure fence-sql postgres | psql -v ON_ERROR_STOP=1 "$DATABASE_URL"     (again whenever you like)
-- Uninstall:  DROP FUNCTION tenure_fence(text, bigint); DROP TABLE tenure_fences;
--
-- Use: the lock "nightly-report" was granted to you with token 33.
--   Once, by itself, as soon as you have the lock:
--     SELECT tenure_fence('nightly-report', 33);
--   Then first of all in each transaction that the lock protects:
--     BEGIN; SELECT tenure_fence('nightly-report', 33); ...
-- Each time,
--   - if 33 is the highest token seen, the transaction is let in, beside others with the same token;
--   - if 33 is higher, it waits until the transactions that were let in with lower tokens have ended, and sees what they
--     have done. From then on nobody is let in with a lower one;
--   - if 33 is lower, it fails.
-- The call by itself may be left out. It does the waiting at a place of your choice, and lets transactions of the same token
-- begin side by side: the first ones of a new token otherwise run one after the other.
--
-- A name has 1 to 255 bytes, which are compared as they are. All tokens for a name must come from one namespace of one
-- Tenure. A token protects what is done in the transaction that made the call: called outside of one, it protects nothing.
-- Make the call a statement of its own, and do not roll back to a savepoint from before it. All writers must be connected to the
-- same server (by PgBouncer in transaction mode, if you like): several that replicate each other's writes share no locks.
--
-- Errors, by SQLSTATE. After any of them PostgreSQL lets you do nothing but roll back.
--   TF001  stale fencing token 33: 34 is the highest seen for nightly-report
--          Another holder has taken over: end the work. Trying again is in vain.
--   22023  The name or the token is out of bounds.
--   40001  Only under REPEATABLE READ and SERIALIZABLE, whose snapshot is taken before the waiting: it may lack what a lower
--          token has done. Run the transaction again. Busy databases call once by itself under READ COMMITTED, as above;
--          what begins after that never sees this error for its own token.
--   55P03  It waited for longer than lock_timeout. Without that it waits for as long as a lower token's transaction is open,
--          even of a process that is paused: idle_in_transaction_session_timeout puts an end to those.
--
-- Rights: callers need SELECT, INSERT and UPDATE on tenure_fences. The function has its caller's rights, and finds the table in
-- the schema that it was installed in (the first one of search_path at the time), whatever the caller's search_path.
-- A row that is deleted is forgotten: delete it only when nobody with an old token for that name can be left.

CREATE TABLE IF NOT EXISTS tenure_fences (
    name text COLLATE "C" NOT NULL PRIMARY KEY CHECK (octet_length(name) BETWEEN 1 AND 255),
    token bigint NOT NULL CHECK (token > 0)  -- the highest seen
);

CREATE OR REPLACE FUNCTION tenure_fence(name text, token bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER AS $function$
#variable_conflict use_column
DECLARE
    snapshot pg_snapshot := pg_current_snapshot();
    has_written boolean := pg_current_xact_id_if_assigned() IS NOT NULL;
    queue bigint := hashtextextended(tenure_fence.name, 7420);
    highest bigint;
BEGIN
    IF tenure_fence.name IS NULL OR octet_length(tenure_fence.name) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'tenure_fence: the name must have 1 to 255 bytes' USING ERRCODE = '22023';
    END IF;
    IF tenure_fence.token IS NULL OR tenure_fence.token < 1 THEN
        RAISE EXCEPTION 'tenure_fence: the token must be 1 to 9223372036854775807' USING ERRCODE = '22023';
    END IF;

    -- Locks nothing yet: who shares the row and then wants to change it would meet others who want the same.
    SELECT f.token INTO highest FROM tenure_fences AS f WHERE f.name = tenure_fence.name;

    -- The lock on the row would do. But whoever shares a row is let past those who wait to change it, and could be for ever: the
    -- advisory lock (of the transaction, its key a hash of the name) has newcomers wait behind those who wait already.
    IF highest = tenure_fence.token THEN
        PERFORM pg_advisory_xact_lock_shared(queue);
        SELECT f.token INTO highest FROM tenure_fences AS f WHERE f.name = tenure_fence.name FOR SHARE;
    END IF;
    IF highest IS NULL OR highest < tenure_fence.token THEN
        PERFORM pg_advisory_xact_lock(queue);
        INSERT INTO tenure_fences AS f (name, token) VALUES (tenure_fence.name, tenure_fence.token)
        ON CONFLICT (name) DO UPDATE SET token = greatest(f.token, excluded.token)
        RETURNING f.token INTO highest;

        -- What was committed since the snapshot may be a lower token's: it was, if the call has waited for one. Who has
        -- written before the call has too low an id for this to tell.
        IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') AND (has_written OR EXISTS (
            SELECT FROM (
                SELECT pg_snapshot_xip(snapshot)::text::bigint AS id
                UNION ALL
                SELECT generate_series(pg_snapshot_xmax(snapshot)::text::bigint, pg_current_xact_id()::text::bigint - 1)
            ) AS unseen
            WHERE pg_xact_status(unseen.id::text::xid8) = 'committed'
        )) THEN
            RAISE EXCEPTION 'tenure_fence: could not serialize access, as the snapshot may lack what a lower token has done'
            USING ERRCODE = '40001', HINT = 'Run the transaction again, with this call as its first statement.';
        END IF;
    END IF;

    IF highest > tenure_fence.token THEN
        RAISE EXCEPTION 'stale fencing token %: % is the highest seen for %', tenure_fence.token, highest, tenure_fence.name
        USING ERRCODE = 'TF001', HINT = 'Another holder has taken over: roll back, and end the work under this token.';
    END IF;
END
$function$;

DO $block$ BEGIN
    EXECUTE format('ALTER FUNCTION tenure_fence(text, bigint) SET search_path = %I, pg_temp', current_schema());
END $block$;
