-- Not information_schema, which leaves out what this user has no rights to.
SELECT c.relname::text
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relname::text = ANY (translate($1, '[]"', '{}')::text[])
ORDER BY c.relname
