-- Tenure's tables. Numbers are the keys; names are only data, compared byte by byte by the servers.

-- The head of each namespace. Its revision is raised by compare-and-set together with each batch of the log.
CREATE TABLE IF NOT EXISTS namespaces (
    name text NOT NULL PRIMARY KEY,
    revision bigint NOT NULL,                 -- the last event
    rows_revision bigint NOT NULL,            -- up to where the rows below sum up the log
    lost_revision bigint NOT NULL DEFAULT 0,  -- the last event up to there that says that history was lost
    database_identity text NOT NULL           -- the database that the head was written on
);

-- The log: one row for each commit.
CREATE TABLE IF NOT EXISTS batches (
    namespace text NOT NULL,
    revision bigint NOT NULL,  -- the last event of the batch
    previous bigint NOT NULL,  -- the last event of the batch before
    server bigint NOT NULL,    -- who appended it,
    number bigint NOT NULL,    -- its number among that server's batches,
    at_ms bigint NOT NULL,     -- and that server's clock, in ms since 1970
    events text NOT NULL,      -- a JSON array; the view "events" spreads it out
    PRIMARY KEY (namespace, revision)
);

-- The servers, as they show each other that they are alive.
CREATE TABLE IF NOT EXISTS servers (
    id bigint NOT NULL PRIMARY KEY,
    beat bigint NOT NULL,      -- changes while the server lives
    lease_ms bigint NOT NULL,  -- how long the others wait for that
    label text NOT NULL,       -- what people call it
    address text NOT NULL,     -- where the others reach it: host and port; empty if nowhere
    dead boolean NOT NULL
);

-- The open sessions at rows_revision. The view "current_sessions" adds what came after.
CREATE TABLE IF NOT EXISTS sessions (
    namespace text NOT NULL,
    opened bigint NOT NULL,      -- the event that opened it
    id text NOT NULL,
    owner text NOT NULL,
    ttl_ms bigint NOT NULL,
    disconnect_grace_ms bigint,  -- how long it outlives its stream; null: until its TTL has passed
    home bigint NOT NULL,        -- the server that takes its renewals
    metadata text NOT NULL,      -- a JSON object
    PRIMARY KEY (namespace, opened)
);

-- Who held and who waited at rows_revision, one row for each name of a claim. The view "current_claims" adds what came
-- after.
CREATE TABLE IF NOT EXISTS claims (
    namespace text NOT NULL,
    id bigint NOT NULL,        -- the event that created it
    position bigint NOT NULL,  -- of the name among the claim's names, from 0
    name text NOT NULL,
    state text NOT NULL,       -- waiting, held or lingering
    token bigint,              -- the fencing token, once granted
    session text NOT NULL,
    opened bigint NOT NULL,    -- the event that opened the session
    owner text NOT NULL,
    priority bigint NOT NULL,
    min_hold_ms bigint NOT NULL,
    home bigint,               -- while lingering: the server that counts the minimum hold
    mode text NOT NULL,        -- exclusive, shared or permits
    permits bigint,            -- how many permits,
    permit_limit bigint,       -- and out of how many
    transfer_to bigint,        -- the waiting claim that the holder was asked to hand over to, if it was named
    transfer_started bigint,   -- the event that asked the holder to hand over, if it was
    drain_ms bigint,           -- for how long it may then go on
    metadata text NOT NULL,    -- a JSON object
    PRIMARY KEY (namespace, id, position)
);

-- What operators had set on locks at rows_revision. The view "current_settings" adds what came after.
CREATE TABLE IF NOT EXISTS settings (
    namespace text NOT NULL,
    position bigint NOT NULL,  -- in the order of the names
    name text NOT NULL,
    permit_limit bigint,       -- how many permits there are, if that is set
    settling_ms bigint,        -- how long a better waiter waits before it preempts, if it may,
    drain_ms bigint,           -- and how long the holder may then go on
    PRIMARY KEY (namespace, position)
);

-- The groups that had members or a config at rows_revision. The view "current_groups" adds what came after.
CREATE TABLE IF NOT EXISTS member_groups (
    namespace text NOT NULL,
    id bigint NOT NULL,          -- the event that created it
    name text NOT NULL,
    membership bigint NOT NULL,  -- the last event by which a member came or went; 0 if none ever did
    leader bigint,               -- the number of the member that leads, if there are members
    token bigint,                -- the token of the leader
    config text,                 -- the shared value, if there is one
    config_revision bigint,      -- the event that set it
    assigned bigint,             -- the event of the last assignments, if there were any
    assigned_membership bigint,  -- the membership that they were computed from
    assigned_config bigint,      -- the config_revision that they were computed from; 0 without a config
    PRIMARY KEY (namespace, id)
);

-- The members of those groups at rows_revision. The view "current_members" adds what came after.
CREATE TABLE IF NOT EXISTS group_members (
    namespace text NOT NULL,
    group_id bigint NOT NULL,  -- the event that created the group
    number bigint NOT NULL,    -- the event by which it joined
    session text NOT NULL,
    opened bigint NOT NULL,    -- the event that opened the session
    owner text NOT NULL,
    metadata text NOT NULL,    -- a JSON object
    assignment text,           -- what the leader assigned to it last, if anything
    PRIMARY KEY (namespace, group_id, number)
);
