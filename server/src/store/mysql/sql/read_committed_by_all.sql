-- Has a node of a Galera cluster read only when it has applied what the cluster had committed until then. Otherwise a batch
-- that was committed by a node which has failed since might not be found at another.
SET SESSION wsrep_sync_wait = 1
