-- Tenure's tables. Numbers are the keys, except that clients are known by their ids; names are only data, compared byte by
-- byte by the servers.

-- The head of each namespace. Its revision is raised by compare-and-set together with each batch of the log.
CREATE TABLE IF NOT EXISTS namespaces (
    name VARCHAR(63) NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL,               -- the last event
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
    heartbeat BIGINT NOT NULL,                         -- changes while the server lives
    lease_ms BIGINT NOT NULL,                     -- how long the others wait for that
    label TEXT NOT NULL,                          -- what people call it
    address TEXT NOT NULL,                        -- where the others reach it: host and port; empty if nowhere
    certificate VARCHAR(64) NOT NULL DEFAULT '',  -- the SHA-256 of what it shows them there, in hexadecimal; empty if it speaks no TLS
    dead BOOLEAN NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Up to where the rows of each namespace sum up the log. Apart from the heads, for which appends would otherwise wait while
-- rows are saved: who saves them keeps this row locked until the commit, and may be frozen before it.
CREATE TABLE IF NOT EXISTS row_heads (
    namespace VARCHAR(63) NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL,      -- the last event that the rows sum up
    lost_revision BIGINT NOT NULL  -- the last one of those that says that history was lost; 0: none
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The clients as of row_heads: programs that declare what they want to have.
CREATE TABLE IF NOT EXISTS clients (
    namespace VARCHAR(63) NOT NULL,
    id VARBINARY(255) NOT NULL,  -- the text that the program has drawn, as bytes: spaces at its end count
    epoch BIGINT NOT NULL,       -- increases with every stream that it opens
    home BIGINT NOT NULL,        -- the server that it is connected to, or was last: the home of its sessions
    identity TEXT,               -- as whom it was authenticated; null: that was not required
    last BIGINT NOT NULL,        -- the highest number that it has declared something by
    PRIMARY KEY (namespace, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The open sessions as of row_heads. The view "current_sessions" adds what came after.
CREATE TABLE IF NOT EXISTS sessions (
    namespace VARCHAR(63) NOT NULL,
    opened BIGINT NOT NULL,                -- the event that opened it
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    identity TEXT,                         -- the authenticated identity that opened it; null: none was required
    client TEXT,                           -- the program that opened it; null: programs are not compared
    declared BIGINT NOT NULL DEFAULT 0,    -- the number by which its client has declared it; 0: it was opened by a call
    ttl_ms BIGINT NOT NULL,
    disconnect_grace_ms BIGINT,            -- how long it outlives its stream; null: until its TTL has passed
    home BIGINT NOT NULL,                  -- the server that takes its renewals; of a declared session, the home of its client does
    metadata LONGTEXT NOT NULL,            -- a JSON object
    PRIMARY KEY (namespace, opened)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Who held and who waited as of row_heads, one row for each name of a claim. The view "current_claims" adds what came
-- after.
CREATE TABLE IF NOT EXISTS claims (
    namespace VARCHAR(63) NOT NULL,
    id BIGINT NOT NULL,                  -- the event that created it
    position BIGINT NOT NULL,            -- of the name among the claim's names, from 0
    name TEXT NOT NULL,
    state VARCHAR(15) NOT NULL,          -- waiting, held or lingering
    token BIGINT,                        -- the fencing token, once granted,
    granted_at_ms BIGINT,                -- and when, by the clock of the server that appended the grant, in ms since 1970; null: not known
    session TEXT NOT NULL,
    opened BIGINT NOT NULL,              -- the event that opened the session
    declared BIGINT NOT NULL DEFAULT 0,  -- the number by which its client has declared it; 0: it was requested by a call
    owner TEXT NOT NULL,
    priority BIGINT NOT NULL,
    min_hold_ms BIGINT NOT NULL,
    home BIGINT,                         -- while lingering: the server that counts the minimum hold
    mode VARCHAR(15) NOT NULL,           -- exclusive, shared or permits
    permits BIGINT,                      -- how many permits,
    permit_limit BIGINT,                 -- and out of how many
    transfer_to BIGINT,                  -- the waiting claim that the holder was asked to hand over to, if it was named
    transfer_started BIGINT,             -- the event that asked the holder to hand over, if it was
    drain_ms BIGINT,                     -- for how long it may then go on
    waiting_server BIGINT,               -- the server that has the call that waits for it; null: the home of its session looks after it
    metadata LONGTEXT NOT NULL,          -- a JSON object
    PRIMARY KEY (namespace, id, position)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What operators had set on locks as of row_heads. The view "current_settings" adds what came after.
CREATE TABLE IF NOT EXISTS settings (
    namespace VARCHAR(63) NOT NULL,
    position BIGINT NOT NULL,  -- in the order of the names
    name TEXT NOT NULL,
    permit_limit BIGINT,       -- how many permits there are, if that is set
    settling_ms BIGINT,        -- how long a better waiter waits before it preempts, if it may,
    drain_ms BIGINT,           -- and how long the holder may then go on
    PRIMARY KEY (namespace, position)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The groups that had members or a config as of row_heads. The view "current_groups" adds what came after.
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

-- The members of those groups as of row_heads. The view "current_members" adds what came after.
CREATE TABLE IF NOT EXISTS group_members (
    namespace VARCHAR(63) NOT NULL,
    group_id BIGINT NOT NULL,            -- the event that created the group
    number BIGINT NOT NULL,              -- the event by which it joined
    session TEXT NOT NULL,
    opened BIGINT NOT NULL,              -- the event that opened the session
    declared BIGINT NOT NULL DEFAULT 0,  -- the number by which its client has declared it; 0: it joined by a call
    owner TEXT NOT NULL,
    metadata LONGTEXT NOT NULL,          -- a JSON object
    assignment LONGTEXT,                 -- what the leader assigned to it last, if anything
    PRIMARY KEY (namespace, group_id, number)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Distinguishes a restored database from the original, which may have issued revisions beyond those of the copy.
CREATE TABLE IF NOT EXISTS tenure_identity (
    said_by VARCHAR(255) NOT NULL PRIMARY KEY,  -- each server of a cluster has made the tables at another time
    created_identity VARCHAR(255) NOT NULL,                -- what it said of when the tables were made
    database_identity VARCHAR(255) NOT NULL     -- the database then: on another one, also new namespaces do not begin at 1
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Views for people. They show the rows together with the later events of the log.

-- The log, one row for each event. Columns that an event has nothing to say about are null. Events of one commit have the
-- same batch: the revision of the last of them. The log does not repeat an event's revision as the number of the claim,
-- token, session or member that the event creates.
CREATE OR REPLACE VIEW events AS
SELECT
    b.namespace AS namespace,
    e.revision AS revision,
    b.revision AS batch,
    b.at_ms AS at_ms,
    b.server AS server,
    coalesce(concat('group_', e.group_change), e.event) AS event,
    CASE e.event WHEN 'claim_queued' THEN e.revision ELSE e.claim END AS claim,
    CASE e.event WHEN 'claim_granted' THEN e.revision ELSE e.token END AS token,
    e.session AS session,
    CASE e.event WHEN 'session_opened' THEN e.revision ELSE e.opened END AS opened,
    e.owner AS owner,
    e.names AS names,
    coalesce(e.priority, 0) AS priority,
    e.ttl_ms AS ttl_ms,
    e.disconnect_grace_ms AS disconnect_grace_ms,
    coalesce(e.min_hold_ms, 0) AS min_hold_ms,
    CASE WHEN e.permits IS NOT NULL THEN 'permits' ELSE coalesce(e.mode, 'exclusive') END AS mode,
    e.permits AS permits,
    coalesce(e.claim_limit, e.lock_limit) AS permit_limit,
    e.settling_ms AS settling_ms,
    coalesce(e.preempt_drain_ms, e.drain_ms) AS drain_ms,
    e.transfer_to AS transfer_to,
    e.reason AS reason,
    e.operator AS operator,
    e.note AS note,
    e.longest_pause_ms AS longest_pause_ms,
    e.group_id AS group_id,
    e.group_name AS group_name,
    CASE e.group_change WHEN 'joined' THEN e.revision ELSE e.member_number END AS member_number,
    e.leader AS leader,
    e.config AS config,
    e.membership AS membership,
    e.config_revision AS config_revision,
    e.assignments AS assignments,
    coalesce(e.metadata, '{}') AS metadata
FROM batches AS b, JSON_TABLE(
    CONVERT(b.events USING utf8mb4), '$[*]' COLUMNS (
        revision BIGINT PATH '$.revision',
        event LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.event',
        claim BIGINT PATH '$.claim',
        token BIGINT PATH '$.token',
        session LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.session',
        opened BIGINT PATH '$.opened',
        owner LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.owner',
        names JSON PATH '$.names',
        priority BIGINT PATH '$.priority',
        ttl_ms BIGINT PATH '$.ttl_ms',
        disconnect_grace_ms BIGINT PATH '$.disconnect_grace_ms',
        min_hold_ms BIGINT PATH '$.min_hold_ms',
        mode LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.mode',
        permits BIGINT PATH '$.mode.permits.permits',
        claim_limit BIGINT PATH '$.mode.permits.limit',
        lock_limit BIGINT PATH '$.permit_limit',
        settling_ms BIGINT PATH '$.preempt.settling_ms',
        preempt_drain_ms BIGINT PATH '$.preempt.drain_ms',
        drain_ms BIGINT PATH '$.drain_ms',
        transfer_to BIGINT PATH '$.transfer_to',
        reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.reason',
        operator LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.by.operator',
        note LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.by.note',
        longest_pause_ms BIGINT PATH '$.longest_pause_ms',
        group_id BIGINT PATH '$.group_id',
        group_change LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.change',
        group_name LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.group',
        member_number BIGINT PATH '$.member',
        leader BIGINT PATH '$.leader',
        config LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.config',
        membership BIGINT PATH '$.membership',
        config_revision BIGINT PATH '$.config_revision',
        assignments JSON PATH '$.assignments',
        metadata JSON PATH '$.metadata'
    )
) AS e;

-- The events that the rows do not sum up yet.
CREATE OR REPLACE VIEW events_after_rows AS
SELECT e.*
FROM namespaces AS n
JOIN events AS e ON e.namespace = n.name
LEFT JOIN row_heads AS r ON r.namespace = n.name
WHERE e.batch > coalesce(r.revision, 0);

-- Every claim to every name, one row each, as it is now. granted_at_ms: the clock of the server that
-- appended the grant, for people; null while waiting.
CREATE OR REPLACE VIEW current_claims AS
WITH latest AS (
    SELECT
        e.*,
        row_number() OVER (PARTITION BY e.namespace, e.claim ORDER BY e.revision DESC) AS recency,
        max(CASE WHEN e.event = 'claim_granted' THEN e.at_ms END) OVER (PARTITION BY e.namespace, e.claim) AS granted_at_ms
    FROM events_after_rows AS e
    WHERE e.claim IS NOT NULL
)
SELECT
    c.namespace AS namespace,
    c.name AS name,
    c.state AS state,
    c.id AS claim,
    c.token AS token,
    c.session AS session,
    c.owner AS owner,
    c.priority AS priority,
    c.mode AS mode,
    c.permits AS permits,
    c.min_hold_ms AS min_hold_ms,
    c.metadata AS metadata,
    c.granted_at_ms AS granted_at_ms
FROM claims AS c
WHERE NOT EXISTS (SELECT 1 FROM latest AS l WHERE l.namespace = c.namespace AND l.claim = c.id)
UNION ALL
SELECT
    l.namespace,
    n.value,
    CASE l.event WHEN 'claim_queued' THEN 'waiting' WHEN 'claim_lingering' THEN 'lingering' ELSE 'held' END,
    l.claim,
    l.token,
    l.session,
    l.owner,
    l.priority,
    l.mode,
    l.permits,
    l.min_hold_ms,
    l.metadata,
    coalesce(
        l.granted_at_ms,
        (SELECT c.granted_at_ms FROM claims AS c WHERE c.namespace = l.namespace AND c.id = l.claim AND c.position = 0)
    )
FROM latest AS l, JSON_TABLE(l.names, '$[*]' COLUMNS (value LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS n
WHERE l.recency = 1 AND l.event <> 'claim_ended';

-- Holders. A lingering lock is not held any more, and not granted before its minimum hold is over.
-- granted_at: the clock of the server that appended the grant, for people.
CREATE OR REPLACE VIEW current_locks AS
SELECT
    namespace,
    name,
    state,
    token,
    session,
    owner,
    mode,
    permits,
    metadata,
    TIMESTAMP('1970-01-01') + INTERVAL granted_at_ms * 1000 MICROSECOND AS granted_at,
    granted_at_ms
FROM current_claims
WHERE state <> 'waiting';

-- Who waits for what; place 1 is next. As texts, names that differ in trailing spaces would be the same.
CREATE OR REPLACE VIEW current_waiters AS
SELECT
    namespace,
    name,
    row_number() OVER (PARTITION BY namespace, CAST(name AS BINARY) ORDER BY priority DESC, claim) AS place,
    claim,
    session,
    owner,
    priority,
    mode,
    permits,
    metadata
FROM current_claims
WHERE state = 'waiting';

-- The open sessions.
CREATE OR REPLACE VIEW current_sessions AS
WITH session_events AS (
    SELECT e.*, row_number() OVER (PARTITION BY e.namespace, e.opened ORDER BY e.revision DESC) AS recency
    FROM events_after_rows AS e
    WHERE e.event IN ('session_opened', 'session_moved', 'session_ended')
),
known AS (
    SELECT namespace, opened, id AS session, owner, ttl_ms, disconnect_grace_ms, metadata FROM sessions
    UNION ALL
    SELECT namespace, opened, session, owner, ttl_ms, disconnect_grace_ms, metadata FROM session_events
    WHERE event = 'session_opened'
)
SELECT
    k.namespace AS namespace,
    k.session AS session,
    k.opened AS opened,
    k.owner AS owner,
    coalesce(l.ttl_ms, k.ttl_ms) AS ttl_ms,
    k.disconnect_grace_ms AS disconnect_grace_ms,
    k.metadata AS metadata
FROM known AS k
LEFT JOIN session_events AS l ON l.namespace = k.namespace AND l.opened = k.opened AND l.recency = 1
WHERE l.event IS NULL OR l.event <> 'session_ended';

-- What operators have set on locks.
--
-- MySQL 9.7 does not take what one JSON_TABLE gives for another in the same query (error 1210), nor if it has merged a view into
-- it. It merges no query that numbers its rows.
CREATE OR REPLACE VIEW current_settings AS
WITH configured AS (
    SELECT e.*, row_number() OVER (PARTITION BY e.namespace ORDER BY e.revision) AS number
    FROM events_after_rows AS e
    WHERE e.event = 'lock_configured'
),
latest AS (
    SELECT e.*, n.value AS name, row_number() OVER (PARTITION BY e.namespace, CAST(n.value AS BINARY) ORDER BY e.revision DESC) AS recency
    FROM configured AS e, JSON_TABLE(e.names, '$[*]' COLUMNS (value LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS n
)
SELECT
    s.namespace AS namespace,
    s.name AS name,
    s.permit_limit AS permit_limit,
    s.settling_ms AS settling_ms,
    s.drain_ms AS drain_ms
FROM settings AS s
WHERE NOT EXISTS (SELECT 1 FROM latest AS l WHERE l.namespace = s.namespace AND CAST(l.name AS BINARY) = CAST(s.name AS BINARY))
UNION ALL
SELECT l.namespace, l.name, l.permit_limit, l.settling_ms, l.drain_ms
FROM latest AS l
WHERE l.recency = 1 AND (l.permit_limit IS NOT NULL OR l.settling_ms IS NOT NULL);

-- Who held what, and why that ended: one row for each name of a hold that is over. What is no longer in the log is null.
-- The times are the servers' clocks, for people. longest_pause_ms: the longest time without a renewal during the hold.
CREATE OR REPLACE VIEW past_holds AS
WITH claim_events AS (
    SELECT
        e.*,
        min(CASE WHEN e.event = 'claim_queued' THEN e.at_ms END) OVER (PARTITION BY e.namespace, e.claim) AS queued_at_ms,
        min(CASE WHEN e.event = 'claim_granted' THEN e.at_ms END) OVER (PARTITION BY e.namespace, e.claim) AS granted_at_ms,
        min(CASE WHEN e.reason IS NOT NULL THEN e.revision END) OVER (PARTITION BY e.namespace, e.claim) AS ended
    FROM events AS e
    WHERE e.claim IS NOT NULL
)
SELECT
    h.namespace AS namespace,
    n.value AS name,
    h.token AS token,
    h.session AS session,
    h.owner AS owner,
    CASE WHEN h.claim = h.token THEN 0 ELSE h.granted_at_ms - h.queued_at_ms END AS waited_ms,
    TIMESTAMP('1970-01-01') + INTERVAL h.granted_at_ms * 1000 MICROSECOND AS granted_at,
    TIMESTAMP('1970-01-01') + INTERVAL h.at_ms * 1000 MICROSECOND AS ended_at,
    h.at_ms - h.granted_at_ms AS held_ms,
    h.reason AS reason,
    h.operator AS operator,
    h.note AS note,
    h.longest_pause_ms AS longest_pause_ms,
    h.granted_at_ms AS granted_at_ms,
    h.at_ms AS ended_at_ms
FROM claim_events AS h, JSON_TABLE(h.names, '$[*]' COLUMNS (value LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS n
WHERE h.revision = h.ended AND h.token IS NOT NULL;

-- The members of groups, in order of joining by their number.
CREATE OR REPLACE VIEW current_members AS
WITH assigned AS (
    SELECT e.*, row_number() OVER (PARTITION BY e.namespace, e.group_id ORDER BY e.revision DESC) AS recency
    FROM events_after_rows AS e
    WHERE e.event = 'group_assigned'
),
assignments AS (
    SELECT a.namespace AS namespace, a.group_id AS group_id, v.member_number AS number, v.assignment AS assignment
    FROM assigned AS a, JSON_TABLE(
        a.assignments, '$[*]' COLUMNS (
            member_number BIGINT PATH '$[0]',
            assignment LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[1]'
        )
    ) AS v
    WHERE a.recency = 1
),
known AS (
    SELECT
        m.namespace AS namespace,
        m.group_id AS group_id,
        g.name AS name,
        m.number AS number,
        m.session AS session,
        m.owner AS owner,
        m.assignment AS assignment,
        m.metadata AS metadata
    FROM group_members AS m
    JOIN member_groups AS g ON g.namespace = m.namespace AND g.id = m.group_id
    UNION ALL
    SELECT namespace, group_id, group_name, member_number, session, owner, NULL, metadata
    FROM events_after_rows
    WHERE event = 'group_joined'
)
SELECT
    k.namespace AS namespace,
    k.group_id AS group_id,
    k.name AS name,
    k.number AS number,
    k.session AS session,
    k.owner AS owner,
    coalesce(a.assignment, k.assignment) AS assignment,
    k.metadata AS metadata
FROM known AS k
LEFT JOIN assignments AS a ON a.namespace = k.namespace AND a.group_id = k.group_id AND a.number = k.number
WHERE NOT EXISTS (
    SELECT 1 FROM events_after_rows AS l
    WHERE l.event = 'group_left' AND l.namespace = k.namespace AND l.group_id = k.group_id AND l.member_number = k.number
);

-- The groups that have members or a config. The assignments are those for what is there if assigned_membership is
-- membership and assigned_config is config_revision (0 without a config).
CREATE OR REPLACE VIEW current_groups AS
WITH latest AS (
    SELECT
        e.*,
        row_number() OVER (
            PARTITION BY e.namespace, e.group_id, CASE e.event WHEN 'group_left' THEN 'group_joined' ELSE e.event END
            ORDER BY e.revision DESC
        ) AS recency
    FROM events_after_rows AS e
    WHERE e.group_id IS NOT NULL
),
known AS (
    SELECT
        namespace,
        id,
        name,
        membership,
        leader,
        token,
        config,
        config_revision,
        assigned,
        assigned_membership,
        assigned_config
    FROM member_groups
    UNION ALL
    SELECT namespace, group_id, group_name, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM events_after_rows
    WHERE group_id = revision
),
merged AS (
    SELECT
        k.namespace AS namespace,
        k.id AS id,
        k.name AS name,
        coalesce(m.revision, k.membership) AS membership,
        CASE WHEN m.revision IS NULL THEN k.leader ELSE m.leader END AS leader,
        CASE WHEN m.revision IS NULL THEN k.token ELSE m.token END AS token,
        CASE WHEN c.revision IS NULL THEN k.config ELSE c.config END AS config,
        CASE
            WHEN c.revision IS NULL THEN k.config_revision
            WHEN c.config IS NOT NULL THEN c.revision
        END AS config_revision,
        coalesce(a.revision, k.assigned) AS assigned,
        coalesce(a.membership, k.assigned_membership) AS assigned_membership,
        coalesce(a.config_revision, k.assigned_config) AS assigned_config
    FROM known AS k
    LEFT JOIN latest AS m
        ON m.namespace = k.namespace AND m.group_id = k.id AND m.recency = 1 AND m.event IN ('group_joined', 'group_left')
    LEFT JOIN latest AS c
        ON c.namespace = k.namespace AND c.group_id = k.id AND c.recency = 1 AND c.event = 'group_configured'
    LEFT JOIN latest AS a
        ON a.namespace = k.namespace AND a.group_id = k.id AND a.recency = 1 AND a.event = 'group_assigned'
),
losses AS (
    SELECT
        namespace,
        max(revision) AS revision
    FROM events_after_rows
    WHERE event = 'history_lost'
    GROUP BY namespace
)
SELECT
    n.namespace AS namespace,
    n.id AS group_id,
    n.name AS name,
    (SELECT count(*) FROM current_members AS m WHERE m.namespace = n.namespace AND m.group_id = n.id) AS members,
    n.membership AS membership,
    n.leader AS leader,
    CASE WHEN n.token < l.revision THEN l.revision ELSE n.token END AS token,
    n.config AS config,
    n.config_revision AS config_revision,
    n.assigned AS assigned,
    n.assigned_membership AS assigned_membership,
    n.assigned_config AS assigned_config
FROM merged AS n
LEFT JOIN losses AS l ON l.namespace = n.namespace
WHERE n.leader IS NOT NULL OR n.config IS NOT NULL;
