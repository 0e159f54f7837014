UPDATE tenure_birth SET database_identity = ''
