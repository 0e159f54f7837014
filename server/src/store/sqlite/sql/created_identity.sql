SELECT
    '',
    (SELECT created_identity FROM tenure_identity WHERE said_by = '')
