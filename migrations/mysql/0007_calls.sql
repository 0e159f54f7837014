-- Which server has the call that waits for a claim, and which program opened each session.
-- Only for tables made by an earlier version, and by a copy: see 0003_attachments.sql.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'claims' AND column_name = 'awaited_at');
SET @change = IF(@missing, 'ALTER TABLE claims ADD COLUMN awaited_at BIGINT NULL, ALGORITHM=COPY', 'DO 0');
PREPARE change_claims FROM @change;
EXECUTE change_claims;
DEALLOCATE PREPARE change_claims;
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'sessions' AND column_name = 'client');
SET @change = IF(@missing, 'ALTER TABLE sessions ADD COLUMN client TEXT NULL, ALGORITHM=COPY', 'DO 0');
PREPARE change_sessions FROM @change;
EXECUTE change_sessions;
DEALLOCATE PREPARE change_sessions;
