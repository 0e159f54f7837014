UPDATE namespaces SET rows_revision = $1, lost_revision = $2
WHERE name = $3 AND rows_revision = $4
    AND EXISTS (SELECT 1 FROM batches AS b WHERE b.namespace = $5 AND b.revision = $6)
    AND database_identity = {identity}
