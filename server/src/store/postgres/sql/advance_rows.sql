UPDATE row_heads SET revision = $1, lost_revision = $2
WHERE namespace = $3 AND revision = $4
    AND EXISTS (SELECT 1 FROM batches AS b WHERE b.namespace = $5 AND b.revision = $6)
    AND EXISTS (SELECT 1 FROM namespaces AS n WHERE n.name = $7 AND n.database_identity = {identity})
