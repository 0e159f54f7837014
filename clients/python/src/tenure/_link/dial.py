"""Finding a server: one endpoint after the other, without waiting for those that hang."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import grpc.aio

from tenure._link.channel import open_channel, signature
from tenure.clock import MILLISECOND, SECOND
from tenure.endpoint import Endpoint
from tenure.errors import RefusedError, UnavailableError
from tenure.security import Security
from tenure.status import error_of
from tenure.v1 import stream_pb2 as pb
from tenure.v1.client_pb2_grpc import ClientServiceStub

if TYPE_CHECKING:
    from tenure.v1.client_pb2_grpc import ClientServiceAsyncStub

#: The next endpoint is tried beside one that has not answered for this part of the connect time-out ...
STAGGER_DIVISOR = 4
#: ... not slower than this ...
LONGEST_STAGGER = 100 * MILLISECOND
#: ... and not slower than this part of the shortest time for which a renewal is good ...
WINDOW_DIVISOR = 12
#: ... but not faster than this.
SHORTEST_STAGGER = 10 * MILLISECOND
#: How long calls that are under way on a connection that is left may take to come to their end.
CALLS_GRACE = 5.0


class Dialled:
    """An open stream to one server."""

    def __init__(self, index: int, target: str, channel: grpc.aio.Channel, signature: grpc.aio.Metadata) -> None:
        #: Which endpoint it is.
        self.index = index
        self.target = target
        self.channel = channel
        stub = cast("ClientServiceAsyncStub", ClientServiceStub(channel))
        self.call: grpc.aio.StreamStreamCall[pb.StreamRequest, pb.StreamResponse] = stub.Stream(metadata=signature)
        #: Set when there may be something to send.
        self.outgoing = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, index: int, endpoint: Endpoint, security: Security, limit: float) -> "Dialled":
        """Connects, and waits until the server has answered. One that is frozen still accepts connections."""
        signed = signature(security)
        dialled = cls(index, endpoint.target, await open_channel(endpoint, security), signed)
        try:
            await asyncio.wait_for(dialled._answered(), limit)
        except BaseException:
            dialled.close(None)
            raise
        return dialled

    async def _answered(self) -> None:
        # A server that takes the stream has something in its headers; one that refuses does not, and its status comes after them.
        if not await self.call.initial_metadata() or self.call.done():
            await self.call.read()
            raise UnavailableError("the server ended the stream")

    def close(self, grace: float | None = CALLS_GRACE) -> None:
        """Ends the stream, which tells the server that this client is gone from it; and then the connection."""
        if self._closing is None:
            self.call.cancel()
            self._closing = asyncio.get_running_loop().create_task(self.channel.close(grace))

    async def closed(self) -> None:
        """Waits until it is closed."""
        if self._closing is not None:
            await self._closing


def stagger(limit: int, window: int | None) -> int:
    """After how long the next endpoint is tried beside the one before: in time for the shortest window of a session."""
    longest = min(limit // STAGGER_DIVISOR, LONGEST_STAGGER)
    return max(longest if window is None else min(longest, window // WINDOW_DIVISOR), SHORTEST_STAGGER)


async def dial(
    endpoints: Sequence[Endpoint], security: Security, order: Sequence[int], limit: int, pause: int
) -> Dialled:
    """Tries these endpoints once, in this order: the next as soon as one fails or takes long. The first that opens a stream is
    taken. The error is that of the last one that failed, unless one refused the credentials."""
    waiting = list(order)
    tries: set[asyncio.Task[Dialled]] = set()
    problem: RefusedError | UnavailableError = UnavailableError("there are no endpoints")
    chosen: Dialled | None = None
    try:
        while chosen is None and (waiting or tries):
            if waiting:
                index = waiting.pop(0)
                tries.add(asyncio.ensure_future(_try(index, endpoints[index], security, limit / SECOND)))
            timeout = pause / SECOND if waiting else None
            done, _ = await asyncio.wait(tries, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                error = task.exception()
                if error is None and chosen is None:
                    chosen = task.result()
                elif error is None:
                    continue
                # That the credentials are refused is what can be mended; the others may only be away.
                elif not isinstance(problem, RefusedError):
                    problem = (
                        error if isinstance(error, RefusedError | UnavailableError) else UnavailableError(str(error))
                    )
                tries.remove(task)
    finally:
        for task in tries:
            task.add_done_callback(_close_unused)
            task.cancel()
    if chosen is None:
        raise problem
    return chosen


async def _try(index: int, endpoint: Endpoint, security: Security, limit: float) -> Dialled:
    """RefusedError if the server refuses the credentials, UnavailableError for all else."""
    try:
        return await Dialled.open(index, endpoint, security, limit)
    except asyncio.TimeoutError:
        problem = f"no answer within {limit * 1000:.0f} ms"
    except grpc.aio.AioRpcError as failure:
        error = error_of(failure)
        if isinstance(error, RefusedError) and error.reason == "UNAUTHENTICATED":
            raise error from None
        problem = failure.details() or failure.code().name
    except UnavailableError as error:
        problem = error.problem
    raise UnavailableError(f"{endpoint.target}: {problem}")


def _close_unused(task: asyncio.Task[Dialled]) -> None:
    if not task.cancelled() and task.exception() is None:
        task.result().close(None)
