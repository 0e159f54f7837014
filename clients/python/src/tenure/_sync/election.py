"""Elections: one leader among several copies of a program."""

import functools
import time
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

from tenure._sync.lock import Guard, Hold
from tenure._sync.portal import Entered, blocking, iterating, obtaining, run
from tenure.aio import election as aio
from tenure.clock import Seconds

P = ParamSpec("P")
T = TypeVar("T")


class Election(Entered[aio.Election]):
    """A candidacy in an election. The leader is the holder of the lock of the election's name.

    As a context manager it is a candidate in the background: functions that are `leader_only` then run while it leads.
    That candidate tries on after every failure of a server, also after rejections that are not temporary, with pauses
    of up to 10 s.
    """

    def __init__(self, election: aio.Election) -> None:
        super().__init__(election)
        #: The election's name.
        self.name = election.name

    @property
    def leadership(self) -> Hold | None:
        """The hold of this candidate while it leads, decided by the clock at this moment."""
        hold = self._inner.leadership
        return None if hold is None else Hold(hold)

    def is_healthy(self) -> bool:
        """Whether the candidate in the background leads, or waits in the queue: not while its campaigns fail, or no
        server is there."""
        return self._inner.is_healthy()

    campaign = obtaining(Guard, aio.Election.campaign)
    leader = blocking(aio.Election.leader)
    observe = iterating(aio.Election.observe)

    def lead(self, body: Callable[[Hold], object]) -> NoReturn:
        """Campaigns, runs `body` in this thread while this candidate leads, and repeats this after a loss, and when the
        body has returned (the candidate then resigns). Each term has a new token.

        A thread cannot be cancelled: the body must check the hold (`check`, `is_valid`, `transfer_request`) and return
        when the leadership is lost, or a handoff is requested; until then this candidate does not campaign again.

        Never returns. Raises errors that a retry cannot fix, ClosedError when the client is closed, and what the body
        raises.
        """
        while True:
            leadership = run(self._inner.win())
            try:
                body(Hold(leadership.hold))
            finally:
                run(self._inner.step_down(leadership))

    def lead_every(self, period: Seconds, body: Callable[[Hold], object]) -> NoReturn:
        """Runs `body` at the start of each term, and then every `period` while this candidate leads; campaigns again
        after a loss. A body that takes longer than the period delays the next. A hung body loses the leadership only
        with `stall_after`.

        Never returns, as `lead`. InvalidError for a period of zero.
        """
        every = self._inner.period(period)

        def bodies(hold: Hold) -> None:
            # The clock of event loops.
            next_at = time.monotonic()
            while run(self._inner.rest(hold._inner, next_at)):
                next_at = time.monotonic() + every
                body(hold)
                hold.tick()

        self.lead(bodies)

    def leader_only(self, function: Callable[P, T]) -> Callable[P, T | None]:
        """Decorates a function, such as a job of a scheduler: it runs only while this candidate leads, and otherwise
        does nothing and returns None. If the leadership was lost meanwhile, it raises LostError at its end. This
        candidate resigns only when it has ended."""

        @functools.wraps(function)
        def only(*arguments: P.args, **named: P.kwargs) -> T | None:
            hold = run(self._inner.begin_job())
            if hold is None:
                return None
            try:
                result = function(*arguments, **named)
                hold.check()
            finally:
                run(self._inner.end_job())
            return result

        return only
