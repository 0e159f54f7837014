"""What a program calls."""

from contextlib import closing
from importlib import resources
from typing import Any, Protocol

from tenure.fence._stale import StaleTokenError, staleness


class Connection(Protocol):
    """A DB-API connection: what is needed of it."""

    def cursor(self) -> Any: ...
    def commit(self) -> Any: ...


class Database:
    """A kind of database that has a fence: `postgres`, `mysql` or `sqlite`."""

    def __init__(self, script: str, call: str) -> None:
        self._script = script
        self._call = call

    @property
    def sql(self) -> str:
        """The script that installs the fence, as `tenure fence-sql` prints it."""
        return resources.files(__package__).joinpath(self._script).read_text(encoding="utf-8")

    def install(self, connection: Connection) -> None:
        """Installs the fence. Repeating it keeps the tokens. A step of the migrations of the database, not of each
        start of a program. It commits.

        A connection to MySQL has to take several statements at once: for PyMySQL that is
        `client_flag=CLIENT.MULTI_STATEMENTS`.
        """
        # Closing reads what each of the statements has to say.
        with closing(connection.cursor()) as cursor:
            cursor.execute(self.sql)
        connection.commit()

    def check(self, connection: Connection, name: str, token: int) -> None:
        """Lets the transaction in that the connection is in, unless the database has seen a higher token for the name.
        First of all in the transaction, and not in a savepoint that may be rolled back. After any error the transaction
        is to be rolled back.

        Name is the lock's, or any other for what is protected: 1 to 255 bytes, compared as they are. All tokens for a
        name must come from one namespace of one Tenure.

        It may wait for transactions of other tokens (in SQLite: for every other writer), for as long as the settings of
        the database allow. StaleTokenError if the token is lower than the highest one seen. Other errors are the
        driver's: after a serialization failure, a deadlock or a wait that took too long the transaction is to be run
        again.
        """
        with closing(connection.cursor()) as cursor:
            try:
                cursor.execute(self._call, (name, token))
            except Exception as error:
                is_stale, highest = staleness(error)
                if not is_stale:
                    raise
                raise StaleTokenError(
                    name, token, self._highest(cursor, name) if highest is None else highest
                ) from error

    def _highest(self, cursor: Any, name: str) -> int:
        """The highest token seen, where the error does not contain it: the transaction continues there, and can be
        asked."""
        cursor.execute("SELECT token FROM tenure_fences WHERE name = ?", (name,))
        (highest,) = cursor.fetchone()
        return int(highest)


class SqliteDatabase(Database):
    """SQLite, whose connections take several statements in a way of their own."""

    def install(self, connection: Any) -> None:
        # The script drops the view for a moment, which others must not see.
        connection.executescript(f"BEGIN IMMEDIATE; {self.sql} COMMIT;")
