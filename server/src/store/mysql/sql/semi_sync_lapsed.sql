-- One row if commits are to wait for a replica (semi-synchronous replication) and do not.
SELECT 1 FROM DUAL
WHERE @@global.rpl_semi_sync_{role}_enabled AND EXISTS (
    SELECT 1 FROM {schema}.global_status
    WHERE variable_name = 'Rpl_semi_sync_{role}_status' AND variable_value = 'OFF'
)
