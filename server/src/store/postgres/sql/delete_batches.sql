DELETE FROM batches WHERE namespace = $1 AND revision <= $2
