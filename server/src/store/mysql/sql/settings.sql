-- What a connection begins with, whatever the server's defaults are, since a default may well break what follows: without
-- autocommit, or with commits that begin the next transaction, single statements are never committed. Backslashes in texts are
-- escapes, quotes are quotes, answers are complete, and no statement waits for a lock longer than its caller. MariaDB also undoes
-- the transaction of a server that is frozen; MySQL does so once the connection is found to be dead.
SET SESSION autocommit = 1, completion_type = 0;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
SET SESSION
    sql_mode = 'STRICT_ALL_TABLES,PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION',
    sql_select_limit = 18446744073709551615, sql_safe_updates = 0, sql_big_selects = 1,
    innodb_lock_wait_timeout = {bound}, lock_wait_timeout = {bound}
    /*M! , idle_transaction_timeout = {bound} */
