-- What must be known of a connection: whether it takes writes, what makes its commits durable.
SELECT
    CONCAT(@@global.read_only, ''),
    CONCAT(@@innodb_flush_log_at_trx_commit, ''),
    CONCAT(@@log_bin, ''),
    CONCAT(@@sync_binlog, '')
