-- Has a member of a group (Group Replication) prove that it is still in touch with the group, and wait until it has applied what
-- the group had committed until now. A primary that has lost its group accepts connections and serves reads, but completes no
-- commit. The wait ends with its caller's.
SET SESSION group_replication_consistency = 'BEFORE', wait_timeout = {bound};
START TRANSACTION READ ONLY;
COMMIT;
SET SESSION group_replication_consistency = DEFAULT, wait_timeout = DEFAULT
