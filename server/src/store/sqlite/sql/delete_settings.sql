DELETE FROM settings WHERE namespace = ?
