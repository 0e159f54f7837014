-- By what a database that was restored is told from what it was: revisions beyond what it knows have been given then.
CREATE TABLE IF NOT EXISTS tenure_birth (
    said_by VARCHAR(255) NOT NULL PRIMARY KEY, -- each server of a cluster has made the tables at another time
    birth VARCHAR(255) NOT NULL,               -- what it said of when the tables were made
    database_identity VARCHAR(255) NOT NULL    -- the database then: on another one, also new namespaces do not begin at 1
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
