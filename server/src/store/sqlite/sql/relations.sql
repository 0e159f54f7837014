SELECT name
FROM sqlite_schema
WHERE lower(name) IN (SELECT value FROM json_each(?))
ORDER BY name
