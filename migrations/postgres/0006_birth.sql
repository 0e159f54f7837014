-- By what a database that was restored is told from what it was: revisions beyond what it knows have been given then.
CREATE TABLE IF NOT EXISTS tenure_birth (
    said_by text NOT NULL PRIMARY KEY, -- there is one row, '': all servers of a cluster say the same
    birth text NOT NULL,               -- what they said of when the tables were made
    database_identity text NOT NULL    -- the database then: on another one, also new namespaces do not begin at 1
);
