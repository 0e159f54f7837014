-- How often clients have asked for their sessions to be attached: what comes with a smaller count is late.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS attachment bigint NOT NULL DEFAULT 0; -- 0: it is not counted
