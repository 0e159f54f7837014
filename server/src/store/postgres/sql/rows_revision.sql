SELECT rows_revision, lost_revision FROM namespaces WHERE name = $1
