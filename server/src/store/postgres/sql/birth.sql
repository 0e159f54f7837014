-- Numbers of tables are not given twice.
SELECT
    'tenure_migrations'::regclass::oid::bigint::text,
    (SELECT birth FROM tenure_birth WHERE said_by = '')
