-- Tenure's tables. Numbers are the keys, except that clients are known by their ids; names are only data, compared byte by
-- byte by the servers.

-- The head of each namespace. Its revision is raised by compare-and-set together with each batch of the log.
CREATE TABLE IF NOT EXISTS namespaces (
    name TEXT NOT NULL PRIMARY KEY,
    revision INTEGER NOT NULL,        -- the last event
    database_identity TEXT NOT NULL  -- the database that the head was written on
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
    heartbeat INTEGER NOT NULL,                 -- changes while the server lives
    lease_ms INTEGER NOT NULL,             -- how long the others wait for that
    label TEXT NOT NULL,                   -- what people call it
    address TEXT NOT NULL,                 -- where the others reach it: host and port; empty if nowhere
    certificate TEXT NOT NULL DEFAULT '',  -- the SHA-256 of what it shows them there, in hexadecimal; empty if it speaks no TLS
    dead INTEGER NOT NULL
) STRICT;

-- Up to where the rows of each namespace sum up the log. Apart from the heads, for which appends would otherwise wait while
-- rows are saved: who saves them keeps this row locked until the commit, and may be frozen before it.
CREATE TABLE IF NOT EXISTS row_heads (
    namespace TEXT NOT NULL PRIMARY KEY,
    revision INTEGER NOT NULL,      -- the last event that the rows sum up
    lost_revision INTEGER NOT NULL  -- the last one of those that says that history was lost; 0: none
) STRICT;

-- The clients as of row_heads: programs that declare what they want to have.
CREATE TABLE IF NOT EXISTS clients (
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,        -- the text that the program has drawn
    epoch INTEGER NOT NULL,  -- increases with every stream that it opens
    home INTEGER NOT NULL,   -- the server that it is connected to, or was last: the home of its sessions
    identity TEXT,           -- as whom it was authenticated; null: that was not required
    last INTEGER NOT NULL,   -- the highest number that it has declared something by
    PRIMARY KEY (namespace, id)
) STRICT, WITHOUT ROWID;

-- The open sessions as of row_heads. The view "current_sessions" adds what came after.
CREATE TABLE IF NOT EXISTS sessions (
    namespace TEXT NOT NULL,
    opened INTEGER NOT NULL,                -- the event that opened it
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    identity TEXT,                          -- the authenticated identity that opened it; null: none was required
    client TEXT,                            -- the program that opened it; null: programs are not compared
    declared INTEGER NOT NULL DEFAULT 0,    -- the number by which its client has declared it; 0: it was opened by a call
    ttl_ms INTEGER NOT NULL,
    disconnect_grace_ms INTEGER,            -- how long it outlives its stream; null: until its TTL has passed
    home INTEGER NOT NULL,                  -- the server that takes its renewals; of a declared session, the home of its client does
    metadata TEXT NOT NULL,                 -- a JSON object
    PRIMARY KEY (namespace, opened)
) STRICT, WITHOUT ROWID;

-- Who held and who waited as of row_heads, one row for each name of a claim. The view "current_claims" adds what came
-- after.
CREATE TABLE IF NOT EXISTS claims (
    namespace TEXT NOT NULL,
    id INTEGER NOT NULL,                  -- the event that created it
    position INTEGER NOT NULL,            -- of the name among the claim's names, from 0
    name TEXT NOT NULL,
    state TEXT NOT NULL,                  -- waiting, held or lingering
    token INTEGER,                        -- the fencing token, once granted,
    granted_at_ms INTEGER,                -- and when, by the clock of the server that appended the grant, in ms since 1970; null: not known
    session TEXT NOT NULL,
    opened INTEGER NOT NULL,              -- the event that opened the session
    declared INTEGER NOT NULL DEFAULT 0,  -- the number by which its client has declared it; 0: it was requested by a call
    owner TEXT NOT NULL,
    priority INTEGER NOT NULL,
    min_hold_ms INTEGER NOT NULL,
    home INTEGER,                         -- while lingering: the server that counts the minimum hold
    mode TEXT NOT NULL,                   -- exclusive, shared or permits
    permits INTEGER,                      -- how many permits,
    permit_limit INTEGER,                 -- and out of how many
    transfer_to INTEGER,                  -- the waiting claim that the holder was asked to hand over to, if it was named
    transfer_started INTEGER,             -- the event that asked the holder to hand over, if it was
    drain_ms INTEGER,                     -- for how long it may then go on
    waiting_server INTEGER,               -- the server that has the call that waits for it; null: the home of its session looks after it
    metadata TEXT NOT NULL,               -- a JSON object
    PRIMARY KEY (namespace, id, position)
) STRICT, WITHOUT ROWID;

-- What operators had set on locks as of row_heads. The view "current_settings" adds what came after.
CREATE TABLE IF NOT EXISTS settings (
    namespace TEXT NOT NULL,
    position INTEGER NOT NULL,  -- in the order of the names
    name TEXT NOT NULL,
    permit_limit INTEGER,       -- how many permits there are, if that is set
    settling_ms INTEGER,        -- how long a better waiter waits before it preempts, if it may,
    drain_ms INTEGER,           -- and how long the holder may then go on
    PRIMARY KEY (namespace, position)
) STRICT, WITHOUT ROWID;

-- The groups that had members or a config as of row_heads. The view "current_groups" adds what came after.
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

-- The members of those groups as of row_heads. The view "current_members" adds what came after.
CREATE TABLE IF NOT EXISTS group_members (
    namespace TEXT NOT NULL,
    group_id INTEGER NOT NULL,            -- the event that created the group
    number INTEGER NOT NULL,              -- the event by which it joined
    session TEXT NOT NULL,
    opened INTEGER NOT NULL,              -- the event that opened the session
    declared INTEGER NOT NULL DEFAULT 0,  -- the number by which its client has declared it; 0: it joined by a call
    owner TEXT NOT NULL,
    metadata TEXT NOT NULL,               -- a JSON object
    assignment TEXT,                      -- what the leader assigned to it last, if anything
    PRIMARY KEY (namespace, group_id, number)
) STRICT, WITHOUT ROWID;

-- Distinguishes a restored database from the original, which may have issued revisions beyond those of the copy.
CREATE TABLE IF NOT EXISTS tenure_identity (
    said_by TEXT NOT NULL PRIMARY KEY,  -- there is one row, ''
    created_identity TEXT NOT NULL,                -- what was said of when the tables were made: a file says nothing
    database_identity TEXT NOT NULL     -- the database then: on another one, also new namespaces do not begin at 1
) STRICT;

-- Views for people. They show the rows together with the later events of the log.

-- The log, one row for each event. Columns that an event has nothing to say about are null. Events of one commit have the
-- same batch: the revision of the last of them. The log does not repeat an event's revision as the number of the claim,
-- token, session or member that the event creates.
CREATE VIEW IF NOT EXISTS events AS
SELECT
    b.namespace AS namespace,
    e.value ->> 'revision' AS revision,
    b.revision AS batch,
    b.at_ms AS at_ms,
    b.server AS server,
    coalesce('group_' || (e.value ->> 'change'), e.value ->> 'event') AS event,
    e.value ->> CASE e.value ->> 'event' WHEN 'claim_queued' THEN 'revision' ELSE 'claim' END AS claim,
    e.value ->> CASE e.value ->> 'event' WHEN 'claim_granted' THEN 'revision' ELSE 'token' END AS token,
    e.value ->> 'session' AS session,
    e.value ->> CASE e.value ->> 'event' WHEN 'session_opened' THEN 'revision' ELSE 'opened' END AS opened,
    e.value ->> 'owner' AS owner,
    e.value -> 'names' AS names,
    coalesce(e.value ->> 'priority', 0) AS priority,
    e.value ->> 'ttl_ms' AS ttl_ms,
    e.value ->> 'disconnect_grace_ms' AS disconnect_grace_ms,
    coalesce(e.value ->> 'min_hold_ms', 0) AS min_hold_ms,
    CASE json_type(e.value, '$.mode') WHEN 'object' THEN 'permits' ELSE coalesce(e.value ->> 'mode', 'exclusive') END AS mode,
    e.value ->> '$.mode.permits.permits' AS permits,
    coalesce(e.value ->> '$.mode.permits.limit', e.value ->> 'permit_limit') AS permit_limit,
    e.value ->> '$.preempt.settling_ms' AS settling_ms,
    coalesce(e.value ->> '$.preempt.drain_ms', e.value ->> 'drain_ms') AS drain_ms,
    e.value ->> 'transfer_to' AS transfer_to,
    e.value ->> 'reason' AS reason,
    e.value ->> '$.by.operator' AS operator,
    e.value ->> '$.by.note' AS note,
    e.value ->> 'longest_pause_ms' AS longest_pause_ms,
    e.value ->> 'group_id' AS group_id,
    e.value ->> 'group' AS group_name,
    e.value ->> CASE e.value ->> 'change' WHEN 'joined' THEN 'revision' ELSE 'member' END AS member_number,
    e.value ->> 'leader' AS leader,
    e.value ->> 'config' AS config,
    e.value ->> 'membership' AS membership,
    e.value ->> 'config_revision' AS config_revision,
    e.value -> 'assignments' AS assignments,
    coalesce(e.value -> 'metadata', '{}') AS metadata
FROM batches AS b, json_each(b.events) AS e;

-- The events that the rows do not sum up yet.
CREATE VIEW IF NOT EXISTS events_after_rows AS
SELECT e.*
FROM namespaces AS n
JOIN events AS e ON e.namespace = n.name
LEFT JOIN row_heads AS r ON r.namespace = n.name
WHERE e.batch > coalesce(r.revision, 0);

-- Every claim to every name, one row each, as it is now. granted_at_ms: the clock of the server that
-- appended the grant, for people; null while waiting.
CREATE VIEW IF NOT EXISTS current_claims AS
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
FROM latest AS l, json_each(l.names) AS n
WHERE l.recency = 1 AND l.event <> 'claim_ended';

-- Holders. A lingering lock is not held any more, and not granted before its minimum hold is over.
-- granted_at: the clock of the server that appended the grant, for people.
CREATE VIEW IF NOT EXISTS current_locks AS
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
    strftime('%Y-%m-%dT%H:%M:%fZ', granted_at_ms / 1000.0, 'unixepoch') AS granted_at,
    granted_at_ms
FROM current_claims
WHERE state <> 'waiting';

-- Who waits for what; place 1 is next.
CREATE VIEW IF NOT EXISTS current_waiters AS
SELECT
    namespace,
    name,
    row_number() OVER (PARTITION BY namespace, name ORDER BY priority DESC, claim) AS place,
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
CREATE VIEW IF NOT EXISTS current_sessions AS
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
CREATE VIEW IF NOT EXISTS current_settings AS
WITH latest AS (
    SELECT e.*, n.value AS name, row_number() OVER (PARTITION BY e.namespace, n.value ORDER BY e.revision DESC) AS recency
    FROM events_after_rows AS e, json_each(e.names) AS n
    WHERE e.event = 'lock_configured'
)
SELECT
    s.namespace AS namespace,
    s.name AS name,
    s.permit_limit AS permit_limit,
    s.settling_ms AS settling_ms,
    s.drain_ms AS drain_ms
FROM settings AS s
WHERE NOT EXISTS (SELECT 1 FROM latest AS l WHERE l.namespace = s.namespace AND l.name = s.name)
UNION ALL
SELECT l.namespace, l.name, l.permit_limit, l.settling_ms, l.drain_ms
FROM latest AS l
WHERE l.recency = 1 AND (l.permit_limit IS NOT NULL OR l.settling_ms IS NOT NULL);

-- Who held what, and why that ended: one row for each name of a hold that is over. What is no longer in the log is null.
-- The times are the servers' clocks, for people. longest_pause_ms: the longest time without a renewal during the hold.
CREATE VIEW IF NOT EXISTS past_holds AS
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
    strftime('%Y-%m-%dT%H:%M:%fZ', h.granted_at_ms / 1000.0, 'unixepoch') AS granted_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', h.at_ms / 1000.0, 'unixepoch') AS ended_at,
    h.at_ms - h.granted_at_ms AS held_ms,
    h.reason AS reason,
    h.operator AS operator,
    h.note AS note,
    h.longest_pause_ms AS longest_pause_ms,
    h.granted_at_ms AS granted_at_ms,
    h.at_ms AS ended_at_ms
FROM claim_events AS h, json_each(h.names) AS n
WHERE h.revision = h.ended AND h.token IS NOT NULL;

-- The members of groups, in order of joining by their number.
CREATE VIEW IF NOT EXISTS current_members AS
WITH assigned AS (
    SELECT e.*, row_number() OVER (PARTITION BY e.namespace, e.group_id ORDER BY e.revision DESC) AS recency
    FROM events_after_rows AS e
    WHERE e.event = 'group_assigned'
),
assignments AS (
    SELECT a.namespace AS namespace, a.group_id AS group_id, v.value ->> 0 AS number, v.value ->> 1 AS assignment
    FROM assigned AS a, json_each(a.assignments) AS v
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
CREATE VIEW IF NOT EXISTS current_groups AS
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
