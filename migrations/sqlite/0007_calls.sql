-- Which server has the call that waits for a claim, and which program opened each session.
ALTER TABLE claims ADD COLUMN awaited_at INTEGER; -- NULL: the home of its session looks after it
ALTER TABLE sessions ADD COLUMN client TEXT;      -- NULL: programs are not compared
