-- How often clients have asked for their sessions to be attached: what comes with a smaller count is late.
-- Only for tables made by an earlier version: a MariaDB whose power fails right after a change of a table may not come back
-- (MDEV-37467 if it is changed in place, by ALGORITHM=INSTANT, until the next checkpoint; by a copy it is a few milliseconds).
-- MySQL has no ADD COLUMN IF NOT EXISTS.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'sessions' AND column_name = 'attachment');
SET @change = IF(@missing, 'ALTER TABLE sessions ADD COLUMN attachment BIGINT NOT NULL DEFAULT 0, ALGORITHM=COPY', 'DO 0');
PREPARE change_sessions FROM @change;
EXECUTE change_sessions;
DEALLOCATE PREPARE change_sessions;
