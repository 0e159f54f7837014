SELECT revision, lost_revision FROM row_heads WHERE namespace = $1
