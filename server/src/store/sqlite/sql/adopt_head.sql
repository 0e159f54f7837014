UPDATE namespaces SET revision = $1, database_identity = {identity}
WHERE name = $2 AND revision = $3
