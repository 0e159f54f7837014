WITH head AS (
    {head} RETURNING name
),
batch AS (
    INSERT INTO batches (namespace, previous, revision, server, number, at_ms, events)
    SELECT name, $3, $1, $4, $5, $6, $7 FROM head
    RETURNING server
)
SELECT pg_notify('tenure', server::text) FROM batch
