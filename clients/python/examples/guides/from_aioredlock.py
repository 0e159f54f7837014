"""What programs that used aioredlock do with Tenure: clients/guides/from-aioredlock.md has these lines.

`python examples/guides/from_aioredlock.py`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420).
"""

import asyncio

from tenure import Busy
from tenure.aio import Client, Hold


async def work(hold: Hold) -> None:
    print(f"works token={hold.token}")


async def main() -> None:
    # snippet: scope
    async with Client.from_env() as client, client.lock("nightly-report") as hold:
        await work(hold)
    # snippet end

    # snippet: try
    async with Client.from_env() as client:
        ran = await client.lock("nightly-report").try_run(work)
        if isinstance(ran, Busy):
            print(f"busy holder={ran.holder.owner if ran.holder else 'unknown'}")
    # snippet end

    client = Client.from_env()
    guard = await client.lock("nightly-report", ttl=30, stall_after=60).acquire_within(1)
    if isinstance(guard, Busy):
        raise RuntimeError("there is no other holder")
    print(f"valid={guard.is_valid()} locked={len((await client.get_lock('nightly-report')).holders) > 0}")
    guard.tick()
    await guard.release()
    await client.close()


asyncio.run(main())
