UPDATE namespaces SET database_identity = ''
