SELECT
    '',
    (SELECT birth FROM tenure_birth WHERE said_by = '')
