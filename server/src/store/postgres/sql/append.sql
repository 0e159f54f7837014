WITH head AS (
    {head} RETURNING name
)
INSERT INTO batches (namespace, previous, revision, server, number, at_ms, events)
SELECT name, $3, $1, $4, $5, $6, $7 FROM head
