"""What runs only while a candidate leads: it ends before the candidate resigns, so that the next leader's does not run beside it."""

import asyncio

from tenure.aio.guard import Hold


class Jobs:
    """The jobs of one candidate. To be used in the event loop."""

    def __init__(self) -> None:
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()
        #: Set when the jobs of this term are to stop.
        self._over = asyncio.Event()

    def begin(self) -> asyncio.Event:
        """One more runs. Gives what is set when it is to stop."""
        self._count += 1
        self._idle.clear()
        return self._over

    def end(self) -> None:
        """One of them has ended."""
        self._count -= 1
        if self._count == 0:
            self._idle.set()

    async def stop(self, hold: Hold) -> None:
        """Has all of them stop, and waits for that, or for the loss of the hold under which they run."""
        self._over.set()
        self._over = asyncio.Event()
        if self._count == 0:
            return
        waits = (asyncio.ensure_future(self._idle.wait()), asyncio.ensure_future(hold.lost()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


async def either(hold: Hold, over: asyncio.Event) -> None:
    """Waits for the loss of the hold, or for that."""
    waits = (asyncio.ensure_future(hold.lost()), asyncio.ensure_future(over.wait()))
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
