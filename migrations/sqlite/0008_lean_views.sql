-- Here the views are as they were: what is changed is what PostgreSQL and MySQL make of theirs.
SELECT 1;
