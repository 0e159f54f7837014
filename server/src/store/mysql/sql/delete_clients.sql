-- In this order, or MariaDB unpacks the JSON again for each row of the namespace.
DELETE c FROM JSON_TABLE(?, '$[*]' COLUMNS (k VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS j
STRAIGHT_JOIN clients AS c ON c.id = CAST(j.k AS BINARY)
WHERE c.namespace = ?
