"""A job that starts on several hosts at once: one runs, the others print its host.

`python examples/try_lock.py HOST`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420).
"""

import sys

from tenure import Busy, Client

host = sys.argv[1] if len(sys.argv) > 1 else "host"
with Client.from_env() as client:
    # The hosts' clocks may differ by some seconds, and the job is shorter than that.
    job = client.lock("hourly-job", owner=host, min_hold=5)
    ran = job.try_run(lambda hold: print(f"running token={hold.token}"))
    if isinstance(ran, Busy):
        print(f"busy holder={ran.holder.owner if ran.holder else 'unknown'}")
    else:
        print("done")
