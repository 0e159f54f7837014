-- The batch is inserted if the head is where it leads to, and changes nothing if it is there already. Nothing here asks
-- ROW_COUNT(): it is wrong when the client goes away between two of the statements, of which the server then still executes
-- the rest.
START TRANSACTION;
{head};
INSERT INTO batches (namespace, previous, revision, server, number, at_ms, events)
SELECT name, $3, revision, $4, $5, $6, _binary $7
FROM namespaces AS n
WHERE n.name = $2 AND n.revision = $1
ON DUPLICATE KEY UPDATE number = batches.number;
COMMIT
