-- Which server has the call that waits for a claim, and which program opened each session.
ALTER TABLE claims ADD COLUMN IF NOT EXISTS awaited_at bigint; -- NULL: the home of its session looks after it
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS client text;     -- NULL: programs are not compared
