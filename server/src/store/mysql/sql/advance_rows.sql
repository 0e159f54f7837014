UPDATE row_heads SET revision = ?, lost_revision = ?
WHERE namespace = ? AND revision = ?
    AND EXISTS (SELECT 1 FROM batches AS b WHERE b.namespace = ? AND b.revision = ?)
    AND EXISTS (SELECT 1 FROM namespaces AS n WHERE n.name = ? AND n.database_identity = {identity})
