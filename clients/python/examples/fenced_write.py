"""Writes under a lock to a database that rejects a writer which has lost the lock, even if it was paused in the middle.

`python examples/fenced_write.py work.db`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420).
"""

import contextlib
import sqlite3
import sys

from tenure import Client, fence


# snippet: write
def write(database: sqlite3.Connection, token: int) -> None:
    """One write: all that belongs to it in one transaction, and the check first."""
    database.execute("BEGIN IMMEDIATE")
    try:
        fence.sqlite.check(database, "nightly-report", token)
        database.execute("INSERT INTO reports (pages) VALUES (1)")
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
    # snippet end


def main() -> None:
    file = sys.argv[1] if len(sys.argv) > 1 else "work.db"
    # Without an isolation level it is this program that begins and ends transactions.
    with contextlib.closing(sqlite3.connect(file, isolation_level=None, timeout=5)) as database:
        fence.sqlite.install(database)
        database.execute("CREATE TABLE IF NOT EXISTS reports (pages INTEGER NOT NULL)")
        with Client.from_env() as client:
            first = client.lock("nightly-report", owner="fenced_write").acquire()
            print(f"acquired token={first.token}")
            write(database, first.token)
            print("wrote")
            first.release()

            # Had the first holder been paused instead, the next one would have got the lock after the TTL, and gone on
            # like this.
            following = client.lock("nightly-report", owner="fenced_write").acquire()
            print(f"acquired token={following.token}")
            write(database, following.token)
            print("wrote")

            # The first one resumes, and has not noticed the loss yet.
            try:
                write(database, first.token)
            except fence.StaleTokenError as stale:
                print(f"refused token={stale.token} highest={stale.highest}")
            following.release()


main()
