BEGIN IMMEDIATE;
{head};
INSERT INTO batches (namespace, previous, revision, server, number, at_ms, events)
SELECT $2, $3, $1, $4, $5, $6, $7
WHERE changes() = 1;
COMMIT
