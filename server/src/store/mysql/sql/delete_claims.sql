-- In this order, or MariaDB unpacks the JSON again for each row of the namespace.
DELETE c FROM JSON_TABLE(?, '$[*]' COLUMNS (k BIGINT PATH '$')) AS j
STRAIGHT_JOIN claims AS c ON c.id = j.k
WHERE c.namespace = ?
