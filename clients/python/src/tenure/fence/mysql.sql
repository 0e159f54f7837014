-- Tenure's fence for MySQL, 8.0 or newer, and MariaDB, 10.6 or newer, in any database of yours (tables: InnoDB).
--
-- A process that is paused may write after it has lost its lock. This turns it away: for each name the database keeps the
-- highest fencing token that it has seen, and a transaction that comes with a lower one fails.
--
-- Install:    tenure fence-sql mysql | mysql your_database     (or mariadb; again whenever you like)
-- Uninstall:  DROP PROCEDURE tenure_fence; DROP TABLE tenure_fences;
--
-- Use: the lock "nightly-report" was granted to you with token 33.
--   Once, by itself, as soon as you have the lock:
--     CALL tenure_fence('nightly-report', 33);
--   Then first of all in each transaction that the lock protects:
--     START TRANSACTION; CALL tenure_fence('nightly-report', 33); ...
-- Each time,
--   - if 33 is the highest token seen, the transaction is let in, beside others with the same token;
--   - if 33 is higher, it waits until the transactions that were let in with lower tokens have ended, and sees what they
--     have done. From then on nobody is let in with a lower one;
--   - if 33 is lower, it fails.
-- The call by itself (with autocommit on) may be left out. It does the waiting at a place of your choice, and spares you the
-- deadlocks below.
--
-- A name has 1 to 255 bytes of UTF-8, which are compared as they are. All tokens for a name must come from one namespace of one
-- Tenure. A token protects what is done in the transaction that made the call: with autocommit on and no transaction begun,
-- it protects nothing. Do not roll back to a savepoint from before the call. All writers must be connected to the same server:
-- the several of a Galera cluster or of Group Replication know nothing of each other's shared locks.
--
-- Errors, by number. They end the statement, not the transaction: roll back, never commit after one.
--   7420 (SQLSTATE 45000)  stale fencing token 33: 34 is the highest seen for nightly-report
--         Another holder has taken over: end the work. Trying again is in vain.
--   7421 (SQLSTATE 45000)  The name or the token is out of bounds. (1264, 1366, 1406: they do not even fit the arguments.)
--   1213 (SQLSTATE 40001)  Deadlock: first transactions of a new token met, each of which shares the row and wants to raise the
--         token. Run the transaction again. What begins after the call by itself never sees this.
--   1020  MariaDB only, under SERIALIZABLE with innodb_snapshot_isolation (ON unless set, from 11.6 on), here or in a later
--         statement: something has changed while it waited. Run the transaction again.
--   1205  It waited for longer than innodb_lock_wait_timeout (50 s unless set): a lower token's transaction is open, be it of a
--         process that is paused. MariaDB ends those with idle_transaction_timeout, both with wait_timeout.
--
-- Isolation: any. The procedure reads with locks only, which takes no snapshot; so under REPEATABLE READ what you read after it
-- is no older than the waiting. Hence: first of all in the transaction, and not after START TRANSACTION WITH CONSISTENT SNAPSHOT.
--
-- Rights: callers need EXECUTE on the procedure (which is made anew when this is run again: grant it again), and SELECT, INSERT
-- and UPDATE on tenure_fences; the procedure has its caller's rights.
-- Who may not create routines makes the table only, which is the last statement here, and begins each transaction with
--   INSERT IGNORE INTO tenure_fences (name, token) VALUES ('nightly-report', 33);
--   SELECT token FROM tenure_fences WHERE name = 'nightly-report' LOCK IN SHARE MODE;
-- and rolls back if that token is greater than 33; or if it is less,
--   UPDATE tenure_fences SET token = 33 WHERE name = 'nightly-report' AND token < 33;
-- (with SET NAMES utf8mb4, and with bounds that you check yourself).
-- A row that is deleted is forgotten: delete it only when nobody with an old token for that name can be left.
--
-- The mysql and mariadb clients end a statement at the first ';' outside of quotes. The quotes around the procedure are seen by
-- them alone: to servers they are in comments, so that whatever can execute several statements at once takes this file as it is.

DROP PROCEDURE IF EXISTS tenure_fence;

/*!999999 " */
CREATE PROCEDURE tenure_fence(IN fence_name VARCHAR(256) CHARACTER SET utf8mb4, IN fence_token BIGINT UNSIGNED)
MODIFIES SQL DATA
SQL SECURITY INVOKER
COMMENT 'Lets the transaction in, unless a higher fencing token was seen for the name'
BEGIN
    DECLARE fence VARBINARY(1024) DEFAULT CAST(fence_name AS BINARY);
    DECLARE highest BIGINT;
    DECLARE refusal VARCHAR(128) CHARACTER SET utf8mb4;
    DECLARE CONTINUE HANDLER FOR 1062 BEGIN END;
    IF fence IS NULL OR length(fence) NOT BETWEEN 1 AND 255 THEN
        SIGNAL SQLSTATE '45000'
        SET MYSQL_ERRNO = 7421, MESSAGE_TEXT = 'tenure_fence: the name must have 1 to 255 bytes';
    END IF;
    IF fence_token IS NULL OR fence_token NOT BETWEEN 1 AND 9223372036854775807 THEN
        SIGNAL SQLSTATE '45000'
        SET MYSQL_ERRNO = 7421, MESSAGE_TEXT = 'tenure_fence: the token must be 1 to 9223372036854775807';
    END IF;

    -- A row that is there (error 1062) is shared from here on, and no gap beside it; one that is missing is made. To look for it
    -- first would lock the gap, and deadlock with whoever makes a row there.
    INSERT INTO tenure_fences (name, token) VALUES (fence, fence_token);
    SELECT token INTO highest FROM tenure_fences WHERE name = fence LOCK IN SHARE MODE;
    IF highest < fence_token THEN
        UPDATE tenure_fences SET token = fence_token WHERE name = fence AND token < fence_token;
        -- Without a transaction somebody may have been in between.
        SELECT token INTO highest FROM tenure_fences WHERE name = fence LOCK IN SHARE MODE;
    END IF;

    IF highest > fence_token THEN
        SET refusal = concat('stale fencing token ', fence_token, ': ', highest, ' is the highest seen for ');
        SET refusal = concat(refusal, left(fence_name, 128 - char_length(refusal)));
        SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 7420, MESSAGE_TEXT = refusal;
    END IF;
END
/*!999999 " */;

-- Of the types of both servers only VARBINARY tells 'job' from 'job '. SELECT CONVERT(name USING utf8mb4) shows it as text.
CREATE TABLE IF NOT EXISTS tenure_fences (
    name VARBINARY(255) NOT NULL PRIMARY KEY,
    token BIGINT NOT NULL CHECK (token > 0)  -- the highest seen
) ENGINE = InnoDB;
