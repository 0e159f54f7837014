-- By what servers know each other over TLS.
-- Only for tables made by an earlier version, and by a copy: see 0003_attachments.sql.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'servers' AND column_name = 'certificate');
SET @change = IF(@missing, 'ALTER TABLE servers ADD COLUMN certificate VARCHAR(64) NOT NULL DEFAULT \'\', ALGORITHM=COPY', 'DO 0');
PREPARE change_servers FROM @change;
EXECUTE change_servers;
DEALLOCATE PREPARE change_servers;
