-- A third to a half of an append's time went to the compression that is the default.
ALTER TABLE batches ALTER COLUMN events SET COMPRESSION lz4
