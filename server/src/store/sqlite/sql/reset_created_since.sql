UPDATE tenure_identity SET database_identity = ''
