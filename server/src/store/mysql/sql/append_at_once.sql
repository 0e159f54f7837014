-- All of an append as one statement, which MariaDB can prepare. It answers once, at the end, so ROW_COUNT() can be relied on
-- even when the client has gone away.
BEGIN NOT ATOMIC
    START TRANSACTION;
    UPDATE namespaces SET revision = ?
    WHERE name = ? AND revision = ? AND database_identity = {identity};
    IF ROW_COUNT() = 1 THEN
        INSERT INTO batches (namespace, previous, revision, server, number, at_ms, events) VALUES (?, ?, ?, ?, ?, ?, ?);
        COMMIT;
    ELSE
        ROLLBACK;
        SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 7422;
    END IF;
END
