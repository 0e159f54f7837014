"""The connection: owns the stream, carries between it and the engine, and goes to the next server when it fails."""

import asyncio
import contextlib
import logging
import random
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import grpc
import grpc.aio

from tenure import clock
from tenure._engine.engine import Engine, Verdict
from tenure._engine.reply import Reply
from tenure._link.backoff import Backoff
from tenure._link.dial import WINDOW_DIVISOR, Dialled, dial, stagger
from tenure._link.process import Origin, uses_grpc
from tenure.clock import MILLISECOND, SECOND
from tenure.endpoint import Endpoint
from tenure.errors import ClosedError, Refusal, RefusedError, TenureError, UnavailableError
from tenure.security import Security
from tenure.v1 import stream_pb2 as pb
from tenure.v1.session_pb2_grpc import SessionServiceStub

if TYPE_CHECKING:
    from tenure.v1.session_pb2_grpc import SessionServiceAsyncStub

log = logging.getLogger("tenure")

#: Pauses between rounds of connecting in vain: from this ...
FIRST_PAUSE = 50 * MILLISECOND
#: ... to this.
LONGEST_PAUSE = SECOND
#: A connection that lasted shorter than this is not followed by another without a pause.
SHORT_LIVED = 500 * MILLISECOND
#: How long a stream that is left is kept while the sessions come over to the new one.
OVERLAP = 5 * SECOND
#: How long closing what a program has left open may hold up its end.
EXIT_LIMIT = SECOND
#: How many sessions that were left open are named at most.
MOST_NAMED = 5
#: The most commands in one message: the contract's bound.
COMMANDS_PER_MESSAGE = 1000
#: Timers of the event loop stop in suspend: after so long the clock is looked at whatever they say.
LONGEST_NAP = SECOND


class Connection:
    """One client's connection to one server at a time. All of it runs in one event loop."""

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        security: Security,
        namespace: str,
        connect_timeout: int,
        call_timeout: int,
    ) -> None:
        self.engine = Engine(namespace, str(uuid.uuid4()))
        self.call_timeout = call_timeout
        self.loop = asyncio.get_running_loop()
        self.origin = Origin()
        uses_grpc(self)
        self._endpoints = endpoints
        self._security = security
        self._connect_timeout = connect_timeout
        self._wake = asyncio.Event()
        self._line_changed = asyncio.Event()
        #: Why there is no stream, ...
        self._problem = "not connected yet"
        #: ... if that is because the credentials are refused.
        self._refusal: Refusal | None = None
        self._stream: Dialled | None = None
        self._carriers: set[asyncio.Task[None]] = set()
        #: The stream that was left, until the sessions have come over or this moment has passed.
        self._parked: tuple[Dialled, int] | None = None
        self._dialling: asyncio.Task[Dialled] | None = None
        self._next_endpoint = random.randrange(len(endpoints))
        self._connected_at: int | None = None
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        self._is_shutting_down = False
        self._answer: asyncio.Future[None] = self.loop.create_future()
        self._task = self.loop.create_task(self._run())

    def check_open(self) -> None:
        """Nothing can be asked of a client that was closed."""
        self.origin.check()
        if self._is_shutting_down:
            raise ClosedError

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is to be asked: of a client that was closed, or that belongs to the process before a fork."""
        return self._is_shutting_down or not self.origin.is_here

    def wake(self) -> None:
        """The engine was asked something: there may be something to send, and other timers."""
        if not self.origin.is_here:
            return
        self._wake.set()
        if self._stream is not None:
            self._stream.outgoing.set()

    async def shut_down(self) -> None:
        """Closes all sessions and ends all watches; nothing can be asked afterwards. What belongs to the process before a fork is
        left to it."""
        if not self.origin.is_here:
            return
        if not self._is_shutting_down:
            self._is_shutting_down = True
            now = clock.now()
            self.engine.shut_down(now + self.call_timeout, Reply(self._shut_down_answered), now)
            self.wake()
        await asyncio.shield(self._answer)
        await self._task

    async def channel(self, deadline: float) -> tuple[grpc.aio.Channel, asyncio.Event]:
        """The connection to the server that the stream is connected to, and what tells when that changes. Waits for one until
        the deadline, in the event loop's time, unless the credentials are refused."""
        while self._stream is None:
            self.check_open()
            if self._refusal is not None:
                # Whoever asks again and again lets the dialling go on.
                await asyncio.sleep(0)
                raise RefusedError(self._refusal)
            changed = self._line_changed
            try:
                await asyncio.wait_for(changed.wait(), deadline - self.loop.time())
            except asyncio.TimeoutError:
                raise UnavailableError(self._problem) from None
        self.check_open()
        return self._stream.channel, self._line_changed

    def _shut_down_answered(self, reply: Reply[None]) -> None:
        if reply.error is not None:
            self._answer.set_exception(reply.error)
        else:
            self._answer.set_result(None)
        self.wake()

    async def _run(self) -> None:
        try:
            self._start_dialling(None)
            while not self._answer.done():
                now = clock.now()
                self._do_what_is_due(now)
                if self.engine.take_shut_down():
                    break
                await self._nap(now)
                if self._dialling is not None and self._dialling.done():
                    self._dialled(self._dialling)
        except asyncio.CancelledError:
            # Event loops cancel what is left when they end, and then wait for that.
            if not self._is_shutting_down:
                await self._close_at_the_end()
            raise
        finally:
            self._is_shutting_down = True
            if not self._answer.done():
                # The event loop ends: the sessions do by their TTLs.
                self._answer.set_result(None)
            await self._close()

    def _do_what_is_due(self, now: int) -> None:
        try:
            self.engine.due(now)
        except Exception:
            # Nobody may be left waiting because of one mistake.
            log.exception("something was not done")
        self._follow_verdict()
        self._unpark(now)
        if self._stream is not None:
            self._stream.outgoing.set()

    async def _nap(self, now: int) -> None:
        deadlines = [now + LONGEST_NAP, self.engine.timers.next(), self._parked[1] if self._parked else None]
        nap = min(at for at in deadlines if at is not None) - now
        if nap > 0 and not self._wake.is_set():
            timer = self.loop.call_later(nap / SECOND, self._wake.set)
            await self._wake.wait()
            timer.cancel()
        else:
            await asyncio.sleep(0)
        self._wake.clear()

    def _start_dialling(self, pause: int | None) -> None:
        if self._dialling is not None or (self._is_shutting_down and not self.engine.closings):
            return
        at = self._connected_at
        if pause is None and at is not None:
            if clock.now() - at >= SHORT_LIVED:
                self._backoff.reset()
            else:
                pause = self._backoff.next_pause()
        count = len(self._endpoints)
        # The one that the stream is connected to comes last; while that is only to be left, others do or nobody does.
        others = count - 1 if self._stream is not None and count > 1 else count
        order = [(self._next_endpoint + step) % count for step in range(others)]
        window = self.engine.sessions.shortest_window()
        beside = stagger(self._connect_timeout, window)
        if pause is not None and window is not None:
            pause = min(pause, window // WINDOW_DIVISOR)
        self._dialling = self.loop.create_task(self._dial(order, pause or 0, beside))
        self._dialling.add_done_callback(lambda _: self._wake.set())

    async def _dial(self, order: Sequence[int], pause: int, beside: int) -> Dialled:
        if pause > 0:
            await asyncio.sleep(pause / SECOND)
        return await dial(self._endpoints, self._security, order, self._connect_timeout, beside)

    def _dialled(self, dialling: asyncio.Task[Dialled]) -> None:
        self._dialling = None
        try:
            dialled = dialling.result()
        except UnavailableError as error:
            self._dialled_in_vain(error.problem)
            return
        except RefusedError as error:
            self._dialled_in_vain(str(error), error.refusal)
            return
        log.info("connected to %s", dialled.target)
        now = clock.now()
        if self._stream is not None:
            # Whoever sends on it is to notice.
            self._stream.outgoing.set()
            if self._parked is not None:
                self._parked[0].close()
            self._parked = (self._stream, now + OVERLAP)
        self._next_endpoint = (dialled.index + 1) % len(self._endpoints)
        self._connected_at = now
        self._stream = dialled
        self._change_line()
        self.engine.connected(now)
        # Not to be cancelled: that would end a stream that is only parked.
        for carrying in (self._receive(dialled), self._send(dialled)):
            carrier = self.loop.create_task(carrying)
            self._carriers.add(carrier)
            carrier.add_done_callback(self._carriers.discard)

    def _dialled_in_vain(self, problem: str, refusal: Refusal | None = None) -> None:
        log.warning("no server can be reached: %s", problem)
        if self._stream is None:
            self._problem, self._refusal = problem, refusal
            self._change_line()
            self.engine.disconnected(problem)
            if refusal is not None:
                self.engine.openings.refuse_all(refusal, clock.now())
        self._start_dialling(self._backoff.next_pause())

    async def _receive(self, stream: Dialled) -> None:
        problem = "the server ended the stream"
        try:
            async for response in stream.call:
                if stream is self._stream:
                    self.engine.received(response, clock.now())
                    self.wake()
        except asyncio.CancelledError:
            # The stream was closed on this side.
            return
        except grpc.RpcError:
            problem = await stream.call.details() or problem
        except Exception:
            log.exception("what the server said was not understood")
            problem = "what the server said was not understood"
        self._hang_up(stream, problem)

    async def _send(self, stream: Dialled) -> None:
        while True:
            await stream.outgoing.wait()
            stream.outgoing.clear()
            while stream is self._stream and (commands := self.engine.take_outgoing(COMMANDS_PER_MESSAGE)):
                try:
                    await stream.call.write(pb.StreamRequest(commands=commands))
                except (grpc.RpcError, asyncio.InvalidStateError, asyncio.CancelledError):
                    # Whoever receives is told why.
                    return
            if stream is not self._stream:
                return

    def _follow_verdict(self) -> None:
        verdict = self.engine.take_verdict()
        if verdict == Verdict.BROKEN and self._stream is not None:
            self._hang_up(self._stream, "the server did not answer")
        elif verdict == Verdict.LEAVE:
            self._start_dialling(None)

    def _hang_up(self, stream: Dialled, problem: str) -> None:
        if stream is not self._stream:
            return
        log.warning("the stream broke: %s", problem)
        stream.outgoing.set()
        self._stream = None
        self._problem, self._refusal = problem, None
        self._change_line()
        self.engine.disconnected(problem)
        stream.close()
        self._start_dialling(None)
        self.wake()

    def _change_line(self) -> None:
        changed, self._line_changed = self._line_changed, asyncio.Event()
        changed.set()

    def _unpark(self, now: int) -> None:
        if self._parked is None:
            return
        stream, until = self._parked
        is_settled = self._stream is not None and self.engine.sessions.are_all_attached()
        if until <= now or is_settled:
            stream.close()
            self._parked = None

    def warn_of_open_sessions(self) -> bool:
        """Warns of the sessions that a program has left open at its end. Answers whether there are any."""
        left = self.engine.sessions.left_open()
        if left:
            more = f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
            named = ", ".join(left[:MOST_NAMED]) + more
            log.warning("the program ends without closing its client, which is closed now: %s", named)
        return bool(left)

    async def _close_at_the_end(self) -> None:
        """Closes the sessions by plain calls, because the stream is being cancelled as well."""
        self._is_shutting_down = True
        stream, sessions = self._stream, self.engine.sessions.ids()
        if not self.warn_of_open_sessions() or stream is None:
            return
        # Nothing may ask for the sessions anew, or believe in them.
        self.engine.sessions.close_all(clock.now())
        service = cast("SessionServiceAsyncStub", SessionServiceStub(stream.channel))

        async def close(session_id: str) -> None:
            await service.CloseSession(self.engine.closings.request(session_id), timeout=EXIT_LIMIT / SECOND)

        answers = await asyncio.gather(*map(close, sessions), return_exceptions=True)
        failed = sum(isinstance(answer, BaseException) for answer in answers)
        if failed:
            log.warning("%d sessions were not closed in time, and end by their TTLs", failed)

    async def _close(self) -> None:
        if self._dialling is not None:
            self._dialling.cancel()
            with contextlib.suppress(asyncio.CancelledError, TenureError):
                (await self._dialling).close(None)
        streams = [self._stream, self._parked[0] if self._parked else None]
        self._stream = self._parked = None
        self._change_line()
        for stream in streams:
            if stream is not None:
                stream.outgoing.set()
                stream.close(None)
                await stream.closed()
        if self._carriers:
            await asyncio.wait(self._carriers)
