-- Who opened each session, as was proved.
-- Only for tables made by an earlier version, and by a copy: see 0003_attachments.sql.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'sessions' AND column_name = 'identity');
SET @change = IF(@missing, 'ALTER TABLE sessions ADD COLUMN identity TEXT NULL, ALGORITHM=COPY', 'DO 0');
PREPARE change_sessions FROM @change;
EXECUTE change_sessions;
DEALLOCATE PREPARE change_sessions;
