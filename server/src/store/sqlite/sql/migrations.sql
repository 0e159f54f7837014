SELECT number FROM tenure_migrations ORDER BY number
