-- Each change of a table commits, so a lock on a row would not last. MySQL takes no lock's name above 64 characters, and MD5 is
-- no longer built into it.
DO GET_LOCK(CONCAT('tenure.', SHA2(DATABASE(), 224)), 100)
