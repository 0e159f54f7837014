DELETE FROM batches WHERE namespace = ? AND revision <= ?
