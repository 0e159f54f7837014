BEGIN IMMEDIATE;
{head};
INSERT INTO batches (namespace, previous, revision, server, number, at_ms, events)
SELECT ?, ?, ?, ?, ?, ?, ?
WHERE changes() = 1;
COMMIT
