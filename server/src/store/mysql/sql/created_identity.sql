SELECT
    CAST(UNIX_TIMESTAMP(t.create_time) AS CHAR),
    (SELECT created_identity FROM tenure_identity WHERE said_by = {identity})
FROM information_schema.tables AS t
WHERE t.table_schema = DATABASE() AND t.table_name = 'tenure_migrations'
