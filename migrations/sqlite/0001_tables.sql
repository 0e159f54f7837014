-- Tenure's tables. Numbers are the keys; names are only data, compared byte by byte by the servers.

-- The head of each namespace. Its revision is raised by compare-and-set together with each batch of the log.
CREATE TABLE IF NOT EXISTS namespaces (
    name TEXT NOT NULL PRIMARY KEY,
    revision INTEGER NOT NULL,                 -- the last event
    rows_revision INTEGER NOT NULL,            -- up to where the rows below sum up the log
    lost_revision INTEGER NOT NULL DEFAULT 0,  -- the last event up to there that says that history was lost
    database_identity TEXT NOT NULL            -- the database that the head was written on
) STRICT;

-- The log: one row for each commit.
CREATE TABLE IF NOT EXISTS batches (
    namespace TEXT NOT NULL,
    revision INTEGER NOT NULL,  -- the last event of the batch
    previous INTEGER NOT NULL,  -- the last event of the batch before
    server INTEGER NOT NULL,    -- who appended it,
    number INTEGER NOT NULL,    -- its number among that server's batches,
    at_ms INTEGER NOT NULL,     -- and that server's clock, in ms since 1970
    events TEXT NOT NULL,       -- a JSON array; the view "events" spreads it out
    PRIMARY KEY (namespace, revision)
) STRICT;

-- The servers, as they show each other that they are alive.
CREATE TABLE IF NOT EXISTS servers (
    id INTEGER NOT NULL PRIMARY KEY,
    beat INTEGER NOT NULL,      -- changes while the server lives
    lease_ms INTEGER NOT NULL,  -- how long the others wait for that
    label TEXT NOT NULL,        -- what people call it
    address TEXT NOT NULL,      -- where the others reach it: host and port; empty if nowhere
    dead INTEGER NOT NULL
) STRICT;

-- The open sessions at rows_revision. The view "current_sessions" adds what came after.
CREATE TABLE IF NOT EXISTS sessions (
    namespace TEXT NOT NULL,
    opened INTEGER NOT NULL,      -- the event that opened it
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    ttl_ms INTEGER NOT NULL,
    disconnect_grace_ms INTEGER,  -- how long it outlives its stream; null: until its TTL has passed
    home INTEGER NOT NULL,        -- the server that takes its renewals
    metadata TEXT NOT NULL,       -- a JSON object
    PRIMARY KEY (namespace, opened)
) STRICT, WITHOUT ROWID;

-- Who held and who waited at rows_revision, one row for each name of a claim. The view "current_claims" adds what came
-- after.
CREATE TABLE IF NOT EXISTS claims (
    namespace TEXT NOT NULL,
    id INTEGER NOT NULL,        -- the event that created it
    position INTEGER NOT NULL,  -- of the name among the claim's names, from 0
    name TEXT NOT NULL,
    state TEXT NOT NULL,        -- waiting, held or lingering
    token INTEGER,              -- the fencing token, once granted
    session TEXT NOT NULL,
    opened INTEGER NOT NULL,    -- the event that opened the session
    owner TEXT NOT NULL,
    priority INTEGER NOT NULL,
    min_hold_ms INTEGER NOT NULL,
    home INTEGER,               -- while lingering: the server that counts the minimum hold
    mode TEXT NOT NULL,         -- exclusive, shared or permits
    permits INTEGER,            -- how many permits,
    permit_limit INTEGER,       -- and out of how many
    transfer_to INTEGER,        -- the waiting claim that the holder was asked to hand over to, if it was named
    transfer_started INTEGER,   -- the event that asked the holder to hand over, if it was
    drain_ms INTEGER,           -- for how long it may then go on
    metadata TEXT NOT NULL,     -- a JSON object
    PRIMARY KEY (namespace, id, position)
) STRICT, WITHOUT ROWID;

-- What operators had set on locks at rows_revision. The view "current_settings" adds what came after.
CREATE TABLE IF NOT EXISTS settings (
    namespace TEXT NOT NULL,
    position INTEGER NOT NULL,  -- in the order of the names
    name TEXT NOT NULL,
    permit_limit INTEGER,       -- how many permits there are, if that is set
    settling_ms INTEGER,        -- how long a better waiter waits before it preempts, if it may,
    drain_ms INTEGER,           -- and how long the holder may then go on
    PRIMARY KEY (namespace, position)
) STRICT, WITHOUT ROWID;

-- The groups that had members or a config at rows_revision. The view "current_groups" adds what came after.
CREATE TABLE IF NOT EXISTS member_groups (
    namespace TEXT NOT NULL,
    id INTEGER NOT NULL,          -- the event that created it
    name TEXT NOT NULL,
    membership INTEGER NOT NULL,  -- the last event by which a member came or went; 0 if none ever did
    leader INTEGER,               -- the number of the member that leads, if there are members
    token INTEGER,                -- the token of the leader
    config TEXT,                  -- the shared value, if there is one
    config_revision INTEGER,      -- the event that set it
    assigned INTEGER,             -- the event of the last assignments, if there were any
    assigned_membership INTEGER,  -- the membership that they were computed from
    assigned_config INTEGER,      -- the config_revision that they were computed from; 0 without a config
    PRIMARY KEY (namespace, id)
) STRICT, WITHOUT ROWID;

-- The members of those groups at rows_revision. The view "current_members" adds what came after.
CREATE TABLE IF NOT EXISTS group_members (
    namespace TEXT NOT NULL,
    group_id INTEGER NOT NULL,  -- the event that created the group
    number INTEGER NOT NULL,    -- the event by which it joined
    session TEXT NOT NULL,
    opened INTEGER NOT NULL,    -- the event that opened the session
    owner TEXT NOT NULL,
    metadata TEXT NOT NULL,     -- a JSON object
    assignment TEXT,            -- what the leader assigned to it last, if anything
    PRIMARY KEY (namespace, group_id, number)
) STRICT, WITHOUT ROWID;
