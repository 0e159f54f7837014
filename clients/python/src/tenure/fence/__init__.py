"""Makes the user's own database reject stale fencing tokens: a paused process may write after it has lost its lock.

For each name the database keeps the highest token that it has seen. A transaction begins with a check of its token:

    with psycopg.connect(...) as connection:
        fence.postgres.check(connection, "nightly-report", guard.token)
        ...  # everything that the lock protects

The fence is installed once, like a migration: by `install`, or with `tenure fence-sql`. It works in any database, not
only in Tenure's own, and needs no server of Tenure. The head of each `sql` describes its views, and the settings that
end a wait for a transaction of a paused process.
"""

from tenure.fence._database import Connection, Database, SqliteDatabase
from tenure.fence._stale import StaleTokenError

__all__ = ["Connection", "Database", "StaleTokenError", "mysql", "postgres", "sqlite"]

#: PostgreSQL, 13 or newer, by way of psycopg or psycopg2.
postgres = Database("postgres.sql", "SELECT tenure_fence(%s, %s)")

#: MySQL, 8.0 or newer, or MariaDB, 10.6 or newer, by way of PyMySQL or mysqlclient.
mysql = Database("mysql.sql", "CALL tenure_fence(%s, %s)")

#: SQLite, 3.24 or newer, by way of sqlite3.
sqlite = SqliteDatabase("sqlite.sql", "INSERT INTO tenure_fence (name, token) VALUES (?, ?)")
