BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
-- Pages are read in the order of their table's key. Where there are no statistics, as in new tables, the planner would
-- rather collect all rows that are left, and sort them, for each page.
SET LOCAL enable_sort = off
