"""Elections: one leader among several copies of a program."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import NoReturn, ParamSpec, TypeVar

from typing_extensions import Self

from tenure._sync.lock import Guard, Hold
from tenure._sync.portal import each, run
from tenure.aio import election as aio
from tenure.clock import SECOND, Seconds, nanoseconds
from tenure.errors import InvalidError
from tenure.leader import Leader

P = ParamSpec("P")
T = TypeVar("T")

#: One term of leading, from an election won to its loss: `release` resigns, `transfer_to` steps down in favour of a candidate.
Leadership = Guard


class Election:
    """One candidate's part in an election. The leader is whoever holds the lock of the election's name.

    As a context manager it stands as a candidate in the background: functions that are `leader_only` then run while it leads.
    """

    def __init__(self, election: aio.Election) -> None:
        self._election = election

    @property
    def name(self) -> str:
        """The election's name."""
        return self._election.name

    @property
    def leadership(self) -> Hold | None:
        """The hold of this candidate while it leads, decided by the clock at this very moment."""
        hold = self._election.leadership
        return None if hold is None else Hold(hold)

    def campaign(self) -> Leadership:
        """Waits until this candidate leads."""
        return Guard(run(self._election.campaign()))

    def lead(self, body: Callable[[Hold], object]) -> NoReturn:
        """Campaigns, runs `body` in this thread while this candidate leads, and so on for ever: after a loss, and when the body has
        returned (it then resigns). Each time it leads it has a new token.

        A thread cannot be cancelled: the body has to look at the hold (`check`, `is_valid`, `transfer_request`) and return when the
        leadership is lost, or a handoff is asked for; until then this candidate does not campaign again.

        Never returns. Raises what trying again cannot cure, ClosedError when the client is closed, and what the body raises.
        """
        while True:
            leadership = run(self._election.win())
            try:
                body(Hold(leadership.hold))
            finally:
                run(self._election.step_down(leadership))

    def lead_every(self, period: Seconds, body: Callable[[Hold], object]) -> NoReturn:
        """Runs `body` at once on leading, and then every `period` while this candidate leads; campaigns again after a loss. A body
        that takes longer than the period delays the next. A body that hangs loses the leadership only with `stall_after`.

        Never returns, as `lead`. InvalidError for a period of zero.
        """
        every = nanoseconds(period) / SECOND
        if every <= 0:
            raise InvalidError("period", "it is to be more than zero")

        def bodies(hold: Hold) -> None:
            # Event loops go by this clock.
            next_at = time.monotonic()
            while run(self._election.rest(hold._hold, next_at)):
                next_at = time.monotonic() + every
                body(hold)
                hold.tick()

        self.lead(bodies)

    def leader_only(self, function: Callable[P, T]) -> Callable[P, T | None]:
        """Has a function, such as a job of a scheduler, run only while this candidate leads: else it does nothing, and answers
        None. If the leadership was lost meanwhile, it raises LostError at its end. This candidate resigns only when it has ended."""

        @functools.wraps(function)
        def only(*arguments: P.args, **named: P.kwargs) -> T | None:
            hold = None if self.leadership is None else run(self._election.begin_job())
            if hold is None:
                return None
            try:
                result = function(*arguments, **named)
                hold.check()
            finally:
                run(self._election.end_job())
            return result

        return only

    def leader(self) -> Leader | None:
        """Who leads now."""
        return run(self._election.leader())

    def observe(self) -> Iterator[Leader | None]:
        """Who leads, now and after each change; None while nobody does. Goes on by itself after failures."""
        return each(self._election.observe())

    def __enter__(self) -> Self:
        run(self._election.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        run(self._election.__aexit__(kind, error, traceback))
