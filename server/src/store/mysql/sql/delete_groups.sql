-- In this order, or MariaDB unpacks the JSON again for each row of the namespace.
DELETE g FROM JSON_TABLE(?, '$[*]' COLUMNS (k BIGINT PATH '$')) AS j
STRAIGHT_JOIN member_groups AS g ON g.id = j.k
WHERE g.namespace = ?
