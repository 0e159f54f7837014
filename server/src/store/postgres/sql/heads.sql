SELECT name, revision FROM namespaces
