SELECT t.table_name
FROM information_schema.tables AS t
WHERE t.table_schema = DATABASE() AND JSON_CONTAINS(?, JSON_QUOTE(LOWER(t.table_name)))
ORDER BY 1
