-- How often clients have asked for their sessions to be attached: what comes with a smaller count is late.
-- MySQL has no ADD COLUMN IF NOT EXISTS. By a copy: a change that MariaDB makes in place (INSTANT) may leave a table that is
-- "marked as crashed" if the power fails soon after (MDEV-37467).
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'sessions' AND column_name = 'attachment');
SET @change = IF(@missing, 'ALTER TABLE sessions ADD COLUMN attachment BIGINT NOT NULL DEFAULT 0, ALGORITHM=COPY', 'DO 0');
PREPARE change_sessions FROM @change;
EXECUTE change_sessions;
DEALLOCATE PREPARE change_sessions;
