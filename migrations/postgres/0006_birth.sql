-- By what a database that was restored is told from what it was: revisions beyond what it knows have been given then.
CREATE TABLE IF NOT EXISTS tenure_birth (
    id bigint NOT NULL PRIMARY KEY, -- there is one row, 1
    birth text NOT NULL,            -- what the database itself said of when the tables were made
    database_identity text NOT NULL -- the database then: on another one, also new namespaces do not begin at 1
);
