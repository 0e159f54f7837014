UPDATE namespaces SET revision = ?, database_identity = {identity}
WHERE name = ? AND revision = ?
