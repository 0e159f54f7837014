UPDATE namespaces SET revision = ?
WHERE name = ? AND revision = ? AND database_identity = {identity}
