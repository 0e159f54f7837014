-- In this order, or MariaDB unpacks the JSON again for each row of the namespace.
DELETE m FROM JSON_TABLE(?, '$[*]' COLUMNS (k BIGINT PATH '$')) AS j
STRAIGHT_JOIN group_members AS m ON m.group_id = j.k
WHERE m.namespace = ?
