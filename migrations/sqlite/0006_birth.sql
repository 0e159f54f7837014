-- By what a database that was restored is told from what it was: revisions beyond what it knows have been given then.
CREATE TABLE IF NOT EXISTS tenure_birth (
    said_by TEXT NOT NULL PRIMARY KEY, -- there is one row, ''
    birth TEXT NOT NULL,               -- what was said of when the tables were made: a file says nothing
    database_identity TEXT NOT NULL    -- the database then: on another one, also new namespaces do not begin at 1
) STRICT;
