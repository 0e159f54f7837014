DELETE FROM settings WHERE namespace = $1
