-- What must be known of a connection: whether it takes writes, what makes its commits durable, whether it is direct.
SELECT
    CASE WHEN pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' THEN 'no' ELSE 'yes' END,
    current_setting('synchronous_commit'),
    current_setting('fsync'),
    current_setting('full_page_writes'),
    coalesce(current_setting('tenure.direct', true), ''),
    coalesce(current_setting('synchronous_standby_names', true), '')
