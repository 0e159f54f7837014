"""What programs that had a lock table of their own do with Tenure: clients/guides/from-a-lock-table.md has these lines.

`python examples/guides/from_a_lock_table.py work.db`, with a server of `TENURE_ENDPOINTS` (default: this machine's port
7420).
"""

import contextlib
import sqlite3
import sys

from tenure import Busy, Client, fence, v1


def install(database: sqlite3.Connection) -> None:
    fence.sqlite.install(database)
    database.execute("CREATE TABLE IF NOT EXISTS reports (pages INTEGER NOT NULL)")


file = sys.argv[1] if len(sys.argv) > 1 else "work.db"
with contextlib.closing(sqlite3.connect(file, isolation_level=None, timeout=5)) as database:
    install(database)
    # snippet: fenced
    with Client.from_env() as client, client.lock("nightly-report", owner="host-1") as hold:
        database.execute("BEGIN IMMEDIATE")
        fence.sqlite.check(database, "nightly-report", hold.token)
        database.execute("INSERT INTO reports (pages) VALUES (1)")
        database.execute("COMMIT")
    # snippet end
    print(f"wrote {database.execute('SELECT count(*) FROM reports').fetchone()[0]}")

with Client.from_env() as client:
    tried = client.lock("nightly-report", min_hold=60).try_acquire()
    if isinstance(tried, Busy):
        raise RuntimeError("there is no other holder")
    lock = client.get_lock("nightly-report")
    print(f"held={len(lock.holders) > 0}")
    client.evict(v1.EvictRequest(name="nightly-report", operator="me"))
    last = next(entry.hold for entry in client.history("nightly-report") if entry.HasField("hold"))
    print(f"token={last.token} evicted by={last.operator}")
