"""The connection's task: owns the stream, passes messages between it and the protocol, and connects to the next server
when it fails."""

import asyncio
import contextlib
import logging
import math
import random

import grpc.aio

from tenure import clock, v1
from tenure.backoff import Backoff
from tenure.connection import Connection, new_client_id, unary
from tenure.error import RefusedError, TenureError, UnavailableError, error_of
from tenure.presence import LONGEST_NAP
from tenure.transport.dial import Dialled, dial

log = logging.getLogger("tenure")

#: Pauses between failed rounds of connection attempts, in seconds: from this ...
FIRST_PAUSE = 0.05
#: ... to this.
LONGEST_PAUSE = 1.0
#: After a stream that was confirmed for less than this, or not at all, there is a pause before the next one.
SHORT_LIVED = 0.5
#: The next endpoint is tried at the latest after this part of the shortest time for which a session is valid.
WINDOW_DIVISOR = 12
#: The name of the task.
DRIVER = "tenure driver"
#: How long closing what a program has left open may delay its end, in seconds.
EXIT_LIMIT = 1.0
#: The most sessions and locks that are named in a warning.
MOST_NAMED = 5


def start(connection: Connection) -> asyncio.Task[None]:
    """Starts the task of a connection, in the current event loop."""
    return asyncio.get_running_loop().create_task(Driver(connection).run(), name=DRIVER)


class Driver:
    """Runs until the client is closed, or its event loop ends."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._protocol = connection.protocol
        self._stream: Dialled | None = None
        #: The last stream that was welcomed, until the server of the current one has taken over: its end would be a
        #: disconnect.
        self._before: Dialled | None = None
        self._dialling: asyncio.Task[Dialled] | None = None
        self._next_endpoint = random.randrange(len(connection.target.endpoints))
        #: When the server of the current stream confirmed its Hello; None if the last attempt failed, or is not
        #: confirmed.
        self._welcomed_at: float | None = -math.inf
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        self._carriers: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        wake = self._connection.wake
        try:
            while (until := self._connection.due(now := clock.now())) is not None:
                # What it has set was itself; what others set is done, too.
                wake.clear()
                if self._stream is not None:
                    self._stream.outgoing.set()
                if self._dialling is None and self._protocol.needs_stream:
                    self._dialling = asyncio.ensure_future(self._dial(now))
                    self._dialling.add_done_callback(lambda _: wake.set())
                timer = asyncio.get_running_loop().call_later(min(max(until - now, 0), LONGEST_NAP), wake.set)
                await wake.wait()
                timer.cancel()
                # Received messages come first: an acknowledgement that has arrived is not overdue.
                await asyncio.sleep(0)
                if self._dialling is not None and self._dialling.done():
                    self._dialled(self._dialling)
        except asyncio.CancelledError:
            # Event loops cancel what is left when they end, and then wait for that.
            await self._leave_nothing()
            raise
        except Exception:
            log.exception("the connection failed, and its sessions are lost")
            self._connection.abandon()
        finally:
            await self._close()

    async def _dial(self, now: float) -> Dialled:
        target, count = self._connection.target, len(self._connection.target.endpoints)
        window = self._protocol.shortest_validity / WINDOW_DIVISOR
        if self._welcomed_at is None or now - self._welcomed_at < SHORT_LIVED:
            await asyncio.sleep(min(self._backoff.next_pause(), window))
        else:
            self._backoff.reset()
        # The endpoint of the current stream comes last; while that stream is still open, it is not tried, unless there
        # is no other.
        others = count - 1 if self._stream is not None and count > 1 else count
        order = [(self._next_endpoint + step) % count for step in range(others)]
        return await dial(target, self._connection.signature, order, window)

    def _dialled(self, dialling: asyncio.Task[Dialled]) -> None:
        is_welcomed, now = self._welcomed_at is not None, clock.now()
        self._dialling = self._welcomed_at = None
        try:
            stream = dialling.result()
        except TenureError as error:
            log.warning("no server can be reached: %s", error)
            if self._stream is None:
                self._connection.set_channel(error)
                if isinstance(error, RefusedError):
                    self._protocol.handle_rejected(error.refusal, now)
            self._connection.dispatch()
            return
        endpoints = self._connection.target.endpoints
        log.info("connected to %s", endpoints[stream.index])
        self._next_endpoint = (stream.index + 1) % len(endpoints)
        # First, because a Hello renews the sessions that are not paused.
        self._connection.check_progress(now)
        stream.epoch = self._protocol.handle_connected(now)
        if self._stream is not None and (is_welcomed or self._before is None):
            self._close_before()
            self._before = self._stream
        elif self._stream is not None:
            self._stream.close()
        self._stream = stream
        self._connection.set_channel(stream.channel)
        for carrying in (self._receive(stream), self._send(stream)):
            carrier = asyncio.ensure_future(carrying)
            self._carriers.add(carrier)
            carrier.add_done_callback(self._carriers.discard)
        self._connection.dispatch()

    async def _receive(self, stream: Dialled) -> None:
        problem = "the server ended the stream"
        try:
            async for response in stream.call:
                self._received(stream, response)
        except asyncio.CancelledError:
            # The stream was closed by this client.
            return
        except grpc.aio.AioRpcError as failure:
            error = error_of(failure)
            problem = failure.details() or problem
            if isinstance(error, RefusedError) and error.reason == "CLIENT_SUPERSEDED":
                self._protocol.handle_superseded(stream.epoch, new_client_id())
                self._connection.dispatch()
        except Exception:
            log.exception("a message of the server could not be processed")
        self._disconnect(stream, problem)

    def _received(self, stream: Dialled, response: v1.ConnectResponse) -> None:
        now = clock.now()
        if stream is self._stream and response.HasField("welcome"):
            self._welcomed_at = now
            self._close_before()
        self._protocol.handle_response(stream.epoch, response, now)
        self._connection.dispatch()

    async def _send(self, stream: Dialled) -> None:
        # A stream that is closed fails the write.
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError, asyncio.CancelledError):
            while stream is self._stream:
                # Callers that were notified by one message make their next changes at the same time: these go together.
                await stream.outgoing.wait()
                stream.outgoing.clear()
                while stream is self._stream and (request := self._protocol.poll_transmit(clock.now())) is not None:
                    await stream.call.write(request)

    def _disconnect(self, stream: Dialled, problem: str) -> None:
        if stream is not self._stream:
            return
        log.warning("the stream broke: %s", problem)
        self._protocol.handle_disconnected(stream.epoch)
        self._connection.set_channel(UnavailableError(problem))
        self._stream = None
        stream.close()
        self._connection.wake.set()

    def _close_before(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            before.close()

    async def _leave_nothing(self) -> None:
        """Closes the sessions by plain calls, because the stream is being cancelled as well."""
        stream, items = self._stream, self._connection.abandon()
        sessions = [item.state.session_id for item in items if isinstance(item.state, v1.OpenState)]
        if stream is None or not sessions:
            return
        held = [name for item in items if item.token for name in item.names]
        log.warning(
            "the program ends without closing its client, which is closed now: sessions %s, locks %s",
            ", ".join(sessions[:MOST_NAMED]),
            ", ".join(held[:MOST_NAMED]) or "none",
        )

        async def close(session_id: str) -> None:
            request = v1.CloseSessionRequest(namespace=self._connection.target.namespace, session_id=session_id)
            path, signature = "SessionService/CloseSession", self._connection.signature()
            await unary(stream.channel, path, request, v1.CloseSessionResponse, EXIT_LIMIT, signature)

        closed = await asyncio.gather(*map(close, sessions), return_exceptions=True)
        if failed := sum(isinstance(result, BaseException) for result in closed):
            log.warning("%d sessions were not closed in time, and end by their TTLs", failed)

    async def _close(self) -> None:
        if self._dialling is not None:
            self._dialling.cancel()
            with contextlib.suppress(asyncio.CancelledError, TenureError):
                await (await self._dialling).close(None)
        self._close_before()
        stream, self._stream = self._stream, None
        self._connection.set_channel(UnavailableError("the client was closed"))
        if stream is not None:
            await stream.close(None)
        if self._carriers:
            await asyncio.wait(self._carriers)
