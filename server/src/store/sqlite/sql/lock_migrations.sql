-- BEGIN IMMEDIATE has the file already.
SELECT 1
