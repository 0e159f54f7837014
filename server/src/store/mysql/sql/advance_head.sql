UPDATE namespaces SET revision = $1
WHERE name = $2 AND revision = $3 AND database_identity = {identity}
