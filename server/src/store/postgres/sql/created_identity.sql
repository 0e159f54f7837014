-- Numbers of tables are not given twice.
SELECT
    'tenure_migrations'::regclass::oid::bigint::text,
    (SELECT created_identity FROM tenure_identity WHERE said_by = '')
