-- Tenure's tables. Numbers are the keys; names are only data, compared byte by byte by the servers.

-- The head of each namespace. Its revision is raised by compare-and-set together with each batch of the log.
CREATE TABLE IF NOT EXISTS namespaces (
    name VARCHAR(63) NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL,                -- the last event
    rows_revision BIGINT NOT NULL,           -- up to where the rows below sum up the log
    lost_revision BIGINT NOT NULL DEFAULT 0, -- the last event up to there that says that history was lost
    database_identity VARCHAR(255) NOT NULL  -- the database that the head was written on
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The log: one row for each commit.
CREATE TABLE IF NOT EXISTS batches (
    namespace VARCHAR(63) NOT NULL,
    revision BIGINT NOT NULL,  -- the last event of the batch
    previous BIGINT NOT NULL,  -- the last event of the batch before
    server BIGINT NOT NULL,    -- who appended it,
    number BIGINT NOT NULL,    -- its number among that server's batches,
    at_ms BIGINT NOT NULL,     -- and that server's clock, in ms since 1970
    events LONGBLOB NOT NULL,  -- a JSON array in UTF-8, as bytes, which need no checking; the view "events" spreads it out
    PRIMARY KEY (namespace, revision)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The servers, as they show each other that they are alive.
CREATE TABLE IF NOT EXISTS servers (
    id BIGINT NOT NULL PRIMARY KEY,
    beat BIGINT NOT NULL,      -- changes while the server lives
    lease_ms BIGINT NOT NULL,  -- how long the others wait for that
    label TEXT NOT NULL,       -- what people call it
    address TEXT NOT NULL,     -- where the others reach it: host and port; empty if nowhere
    certificate VARCHAR(64) NOT NULL DEFAULT '', -- the SHA-256 of what it shows them there, in hexadecimal; empty if it speaks no TLS
    dead BOOLEAN NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The open sessions at rows_revision. The view "current_sessions" adds what came after.
CREATE TABLE IF NOT EXISTS sessions (
    namespace VARCHAR(63) NOT NULL,
    opened BIGINT NOT NULL,      -- the event that opened it
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    ttl_ms BIGINT NOT NULL,
    disconnect_grace_ms BIGINT,  -- how long it outlives its stream; null: until its TTL has passed
    home BIGINT NOT NULL,        -- the server that takes its renewals
    metadata LONGTEXT NOT NULL,  -- a JSON object
    attachment BIGINT NOT NULL DEFAULT 0, -- how often its client has asked for it to be attached; 0: that is not counted
    identity TEXT NULL,          -- who opened it, as was proved; null: nobody had to prove anything
    client TEXT NULL,            -- the program that opened it; null: programs are not compared
    PRIMARY KEY (namespace, opened)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Who held and who waited at rows_revision, one row for each name of a claim. The view "current_claims" adds what came
-- after.
CREATE TABLE IF NOT EXISTS claims (
    namespace VARCHAR(63) NOT NULL,
    id BIGINT NOT NULL,          -- the event that created it
    position BIGINT NOT NULL,    -- of the name among the claim's names, from 0
    name TEXT NOT NULL,
    state VARCHAR(15) NOT NULL,  -- waiting, held or lingering
    token BIGINT,                -- the fencing token, once granted,
    granted_at_ms BIGINT NULL,   -- and when, by the clock of the server that appended the grant, in ms since 1970; null: not known
    session TEXT NOT NULL,
    opened BIGINT NOT NULL,      -- the event that opened the session
    owner TEXT NOT NULL,
    priority BIGINT NOT NULL,
    min_hold_ms BIGINT NOT NULL,
    home BIGINT,                 -- while lingering: the server that counts the minimum hold
    mode VARCHAR(15) NOT NULL,   -- exclusive, shared or permits
    permits BIGINT,              -- how many permits,
    permit_limit BIGINT,         -- and out of how many
    transfer_to BIGINT,          -- the waiting claim that the holder was asked to hand over to, if it was named
    transfer_started BIGINT,     -- the event that asked the holder to hand over, if it was
    drain_ms BIGINT,             -- for how long it may then go on
    awaited_at BIGINT,           -- the server that has the call that waits for it; null: the home of its session looks after it
    metadata LONGTEXT NOT NULL,  -- a JSON object
    PRIMARY KEY (namespace, id, position)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What operators had set on locks at rows_revision. The view "current_settings" adds what came after.
CREATE TABLE IF NOT EXISTS settings (
    namespace VARCHAR(63) NOT NULL,
    position BIGINT NOT NULL,  -- in the order of the names
    name TEXT NOT NULL,
    permit_limit BIGINT,       -- how many permits there are, if that is set
    settling_ms BIGINT,        -- how long a better waiter waits before it preempts, if it may,
    drain_ms BIGINT,           -- and how long the holder may then go on
    PRIMARY KEY (namespace, position)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The groups that had members or a config at rows_revision. The view "current_groups" adds what came after.
CREATE TABLE IF NOT EXISTS member_groups (
    namespace VARCHAR(63) NOT NULL,
    id BIGINT NOT NULL,          -- the event that created it
    name TEXT NOT NULL,
    membership BIGINT NOT NULL,  -- the last event by which a member came or went; 0 if none ever did
    leader BIGINT,               -- the number of the member that leads, if there are members
    token BIGINT,                -- the token of the leader
    config LONGTEXT,             -- the shared value, if there is one
    config_revision BIGINT,      -- the event that set it
    assigned BIGINT,             -- the event of the last assignments, if there were any
    assigned_membership BIGINT,  -- the membership that they were computed from
    assigned_config BIGINT,      -- the config_revision that they were computed from; 0 without a config
    PRIMARY KEY (namespace, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The members of those groups at rows_revision. The view "current_members" adds what came after.
CREATE TABLE IF NOT EXISTS group_members (
    namespace VARCHAR(63) NOT NULL,
    group_id BIGINT NOT NULL,    -- the event that created the group
    number BIGINT NOT NULL,      -- the event by which it joined
    session TEXT NOT NULL,
    opened BIGINT NOT NULL,      -- the event that opened the session
    owner TEXT NOT NULL,
    metadata LONGTEXT NOT NULL,  -- a JSON object
    assignment LONGTEXT,         -- what the leader assigned to it last, if anything
    PRIMARY KEY (namespace, group_id, number)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
