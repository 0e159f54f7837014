UPDATE namespaces SET rows_revision = ?, lost_revision = ?
WHERE name = ? AND rows_revision = ?
    AND EXISTS (SELECT 1 FROM batches AS b WHERE b.namespace = ? AND b.revision = ?)
    AND database_identity = {identity}
