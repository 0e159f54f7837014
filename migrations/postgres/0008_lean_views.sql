-- PostgreSQL expects a hundred events of each batch, where there are one or two, and so takes the views for so much work that it compiles
-- them first (JIT), for up to a second. Of what is true of every event, but seems rare to it, it expects one for each batch.
CREATE OR REPLACE VIEW events AS
SELECT
    b.namespace AS namespace,
    (e.value ->> 'revision')::bigint AS revision,
    b.revision AS batch,
    b.at_ms AS at_ms,
    b.server AS server,
    e.value ->> 'event' AS event,
    (e.value ->> 'claim')::bigint AS claim,
    (e.value ->> 'token')::bigint AS token,
    e.value ->> 'session' AS session,
    (e.value ->> 'opened')::bigint AS opened,
    e.value ->> 'owner' AS owner,
    e.value -> 'names' AS names,
    coalesce((e.value ->> 'priority')::bigint, 0) AS priority,
    (e.value ->> 'ttl_ms')::bigint AS ttl_ms,
    (e.value ->> 'disconnect_grace_ms')::bigint AS disconnect_grace_ms,
    coalesce((e.value ->> 'min_hold_ms')::bigint, 0) AS min_hold_ms,
    coalesce(e.value ->> 'mode', 'exclusive') AS mode,
    (e.value ->> 'permits')::bigint AS permits,
    (e.value ->> 'permit_limit')::bigint AS permit_limit,
    (e.value ->> 'settling_ms')::bigint AS settling_ms,
    (e.value ->> 'drain_ms')::bigint AS drain_ms,
    (e.value ->> 'transfer_to')::bigint AS transfer_to,
    e.value ->> 'reason' AS reason,
    e.value ->> 'operator' AS operator,
    e.value ->> 'note' AS note,
    (e.value ->> 'longest_pause_ms')::bigint AS longest_pause_ms,
    (e.value ->> 'group_id')::bigint AS group_id,
    e.value ->> 'group' AS group_name,
    (e.value ->> 'member')::bigint AS member_number,
    (e.value ->> 'leader')::bigint AS leader,
    e.value ->> 'config' AS config,
    (e.value ->> 'membership')::bigint AS membership,
    (e.value ->> 'config_revision')::bigint AS config_revision,
    e.value -> 'assignments' AS assignments,
    coalesce(e.value ->> 'metadata', '{}') AS metadata
FROM batches AS b, jsonb_array_elements(b.events::jsonb) AS e (value)
WHERE e.value @> '{}';

-- What operators have set on locks: such an event has one name.
CREATE OR REPLACE VIEW current_settings AS
WITH latest AS (
    SELECT e.*, e.names ->> 0 AS name, row_number() OVER (PARTITION BY e.namespace, e.names ->> 0 ORDER BY e.revision DESC) AS recency
    FROM events_after_rows AS e
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
),
present AS (
    -- Counted at once: one by one, each group would read the log again.
    SELECT
        namespace,
        group_id,
        count(*) AS members
    FROM current_members
    GROUP BY namespace, group_id
)
SELECT
    n.namespace AS namespace,
    n.id AS group_id,
    n.name AS name,
    coalesce(p.members, 0) AS members,
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
LEFT JOIN present AS p ON p.namespace = n.namespace AND p.group_id = n.id
WHERE n.leader IS NOT NULL OR n.config IS NOT NULL;
