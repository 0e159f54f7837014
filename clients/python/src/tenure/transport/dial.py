"""Connects to a server: tries one endpoint after the other, without waiting for hung ones."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import grpc.aio

from tenure import v1
from tenure.error import RefusedError, TenureError, UnavailableError, error_of
from tenure.options.client import Destination
from tenure.transport.connector import connect

#: The next endpoint is tried in parallel when one has not opened its stream for this part of the connect timeout ...
STAGGER_DIVISOR = 4
#: ... at the latest after this time, in seconds ...
LONGEST_STAGGER = 0.1
#: ... and not earlier than after this.
SHORTEST_STAGGER = 0.01
#: How long calls that are in progress on a connection that is left may take to end, in seconds.
CALLS_GRACE = 5.0

Signature = Callable[[], grpc.aio.Metadata]


class Dialled:
    """An open stream to one server."""

    def __init__(self, index: int, channel: grpc.aio.Channel, signature: grpc.aio.Metadata) -> None:
        #: The index of the endpoint.
        self.index = index
        self.channel = channel
        start: Any = channel.stream_stream(
            "/tenure.v1.ClientService/Connect", v1.ConnectRequest.SerializeToString, v1.ConnectResponse.FromString
        )
        self.call: grpc.aio.StreamStreamCall[v1.ConnectRequest, v1.ConnectResponse] = start(metadata=signature)
        #: Its epoch, once it is the current stream.
        self.epoch = 0
        #: Set when there may be a message to send.
        self.outgoing = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None

    async def opened(self) -> None:
        """Waits for the server's answer: a frozen server still accepts connections."""
        # A server that accepts the stream has something in its headers. The status of one that rejects it comes after
        # them.
        if not await self.call.initial_metadata() or self.call.done():
            await self.call.read()
            raise UnavailableError("the server ended the stream")

    def close(self, grace: float | None = CALLS_GRACE) -> asyncio.Task[None]:
        """Ends the stream, with the task that sends on it, and then the connection."""
        self.outgoing.set()
        if self._closing is None:
            self.call.cancel()
            self._closing = asyncio.get_running_loop().create_task(self.channel.close(grace))
        return self._closing


def stagger(connect_timeout: float, window: float) -> float:
    """After how long the next endpoint is tried in parallel; `window` is the latest time that the sessions allow."""
    return max(min(connect_timeout / STAGGER_DIVISOR, LONGEST_STAGGER, window), SHORTEST_STAGGER)


async def dial(target: Destination, signature: Signature, order: Sequence[int], window: float) -> Dialled:
    """Tries these endpoints once, in this order: the next one when one fails or takes long. Returns the first that
    opens a stream. The error is that of the last one that failed, unless one rejected the credentials."""
    waiting, tries = list(order), set[asyncio.Task[Dialled]]()
    problem: TenureError = UnavailableError("there are no endpoints")
    try:
        while waiting or tries:
            if waiting:
                tries.add(asyncio.ensure_future(_try(target, signature, waiting.pop(0))))
            timeout = stagger(target.connect_timeout, window) if waiting else None
            done, _ = await asyncio.wait(tries, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                tries.discard(task)
                if task.exception() is None:
                    # Others that are done as well are closed with the rest.
                    tries.update(done - {task})
                    return task.result()
                # The user can fix rejected credentials; the other servers may be unreachable only temporarily.
                if not isinstance(problem, RefusedError):
                    error = task.exception()
                    problem = error if isinstance(error, TenureError) else UnavailableError(repr(error))
    finally:
        for task in tries:
            task.add_done_callback(_close_unused)
            task.cancel()
    raise problem


async def _try(target: Destination, signature: Signature, index: int) -> Dialled:
    """RefusedError if the server rejects the credentials, UnavailableError for everything else."""
    endpoint, limit = target.endpoints[index], target.connect_timeout
    try:
        dialled = Dialled(index, await connect(endpoint, target.security), signature())
        try:
            await asyncio.wait_for(dialled.opened(), limit)
        except BaseException:
            dialled.close(None)
            raise
        return dialled
    except asyncio.TimeoutError:
        problem = f"no answer within {limit * 1000:.0f} ms"
    except grpc.aio.AioRpcError as failure:
        error = error_of(failure)
        if isinstance(error, RefusedError) and error.reason == "UNAUTHENTICATED":
            raise error from None
        problem = failure.details() or failure.code().name
    except UnavailableError as error:
        problem = error.problem
    raise UnavailableError(f"{endpoint}: {problem}")


def _close_unused(task: asyncio.Task[Dialled]) -> None:
    if not task.cancelled() and task.exception() is None:
        task.result().close(None)
