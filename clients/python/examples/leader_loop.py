"""Copies of a program, of which only the leader works: once a second, while it leads.

`python examples/leader_loop.py NAME`, several times, with a server of `TENURE_ENDPOINTS` (default: this machine's port
7420). Kill the one that works, and another does.
"""

import asyncio
import os
import signal
import sys

from tenure.aio import Client, Hold


async def work(leadership: Hold) -> None:
    print(f"work token={leadership.token}", flush=True)


async def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else f"replica-{os.getpid()}"
    # snippet: leader_loop
    async with Client.from_env() as client:
        election = client.election("service_leader", ttl=1.2, owner=name)
        print(f"candidate {name}", flush=True)
        leading = asyncio.ensure_future(election.lead_every(1, work))
        # snippet end
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, leading.cancel)
        try:
            await leading
        except asyncio.CancelledError:
            print("stopping", flush=True)


asyncio.run(main())
