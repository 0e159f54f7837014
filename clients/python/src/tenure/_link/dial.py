"""Finding a server: one endpoint after the other, without waiting for those that hang."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import grpc
import grpc.aio

from tenure.clock import MILLISECOND, SECOND
from tenure.errors import UnavailableError
from tenure.v1 import stream_pb2 as pb
from tenure.v1.stream_pb2_grpc import ClientServiceStub

if TYPE_CHECKING:
    from tenure.v1.stream_pb2_grpc import ClientServiceAsyncStub

#: The next endpoint is tried beside one that has not answered for this part of the connect time-out ...
STAGGER_DIVISOR = 4
#: ... not slower than this ...
LONGEST_STAGGER = 100 * MILLISECOND
#: ... and not slower than this part of the shortest time for which a renewal is good ...
WINDOW_DIVISOR = 12
#: ... but not faster than this.
SHORTEST_STAGGER = 10 * MILLISECOND
#: The largest answer that is taken: a page of 1000 locks with 100 waiters each.
LARGEST_ANSWER = 64 << 20
#: How long calls that are under way on a connection that is left may take to come to their end.
CALLS_GRACE = 5.0

CHANNEL_OPTIONS = (
    # An idle connection is probed, so that one that died in silence is noticed even without a session.
    ("grpc.keepalive_time_ms", 5_000),
    ("grpc.keepalive_timeout_ms", 3_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_receive_message_length", LARGEST_ANSWER),
    # Each try is a connection of its own, which shares neither fate nor pauses with those before.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
    # Locks do not go by way of a web proxy.
    ("grpc.enable_http_proxy", 0),
)


class Dialled:
    """An open stream to one server."""

    def __init__(self, endpoint: int, target: str) -> None:
        self.endpoint = endpoint
        self.target = target
        self.channel = grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS)
        stub = cast("ClientServiceAsyncStub", ClientServiceStub(self.channel))
        self.call: grpc.aio.StreamStreamCall[pb.StreamRequest, pb.StreamResponse] = stub.Stream()
        #: Set when there may be something to send.
        self.outgoing = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None

    async def opened(self, limit: float) -> None:
        """Waits until the server has answered. One that is frozen still accepts connections."""
        try:
            await asyncio.wait_for(self.call.initial_metadata(), limit)
            problem = None if not self.call.done() else await self.call.details()
        except asyncio.TimeoutError:
            problem = f"no answer within {limit * 1000:.0f} ms"
        except grpc.RpcError:
            problem = await self.call.details()
        if problem is not None:
            raise UnavailableError(f"{self.target}: {problem}")

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


async def dial(targets: Sequence[str], order: Sequence[int], limit: int, pause: int) -> Dialled:
    """Tries these endpoints once, in this order: the next as soon as one fails or takes long. The first that opens a stream is
    taken. The error is that of the last one that failed."""
    waiting = list(order)
    tries: dict[asyncio.Task[None], Dialled] = {}
    problem = UnavailableError("there are no endpoints")
    chosen: Dialled | None = None
    try:
        while chosen is None and (waiting or tries):
            if waiting:
                endpoint = waiting.pop(0)
                dialled = Dialled(endpoint, targets[endpoint])
                tries[asyncio.ensure_future(dialled.opened(limit / SECOND))] = dialled
            timeout = pause / SECOND if waiting else None
            done, _ = await asyncio.wait(tries, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                error = task.exception()
                if error is None and chosen is None:
                    chosen = tries.pop(task)
                    continue
                tries.pop(task).close(None)
                if isinstance(error, UnavailableError):
                    problem = error
                elif error is not None:
                    problem = UnavailableError(str(error))
    finally:
        for task, dialled in tries.items():
            task.cancel()
            dialled.close(None)
    if chosen is None:
        raise problem
    return chosen
