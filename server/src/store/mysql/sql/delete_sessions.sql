-- In this order, or MariaDB unpacks the JSON again for each row of the namespace.
DELETE s FROM JSON_TABLE(?, '$[*]' COLUMNS (k BIGINT PATH '$')) AS j
STRAIGHT_JOIN sessions AS s ON s.opened = j.k
WHERE s.namespace = ?
