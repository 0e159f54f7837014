"""Plain calls: reads and an operator's means."""

from collections.abc import Iterator

from tenure import model
from tenure._sync.portal import each, run
from tenure.aio.calls import Calls as AioCalls
from tenure.clock import Seconds
from tenure.history import HistoryEntry


class Calls:
    """The plain calls of a client, as in `tenure.aio.Client`. Each may raise UnavailableError and RefusedError."""

    def __init__(self, calls: AioCalls) -> None:
        self._calls = calls

    def get_lock(self, name: str) -> model.Lock:
        """Reads one lock. A lock that nobody ever asked for is an idle lock, not an error."""
        return run(self._calls.get_lock(name))

    def list_locks(self, prefix: str = "") -> Iterator[model.Lock]:
        """The locks that are held or waited for and whose names begin with `prefix`, in byte order of their names."""
        return each(self._calls.list_locks(prefix))

    def list_blocked(self, *, deadlocked_only: bool = False) -> Iterator[model.BlockedClaim]:
        """The claims that wait, with those that they wait for; or only those in a deadlock."""
        return each(self._calls.list_blocked(deadlocked_only=deadlocked_only))

    def history(self, name: str) -> Iterator[HistoryEntry]:
        """Who held a lock, as far back as history is kept: the holds that last first, then what ended last first."""
        return each(self._calls.history(name))

    def get_session(self, session_id: str) -> model.SessionInfo:
        """Reads one open session, with claims of up to 1 MiB. RefusedError with SESSION_NOT_FOUND or SESSION_ENDED."""
        return run(self._calls.get_session(session_id))

    def list_sessions(self) -> Iterator[model.SessionInfo]:
        """The open sessions, oldest first."""
        return each(self._calls.list_sessions())

    def evict(self, name: str, *, operator: str, note: str = "", token: int | None = None) -> tuple[model.Claim, ...]:
        """Ends the hold of a lock against its holder's will (with a token: only that hold), and answers what was ended."""
        return run(self._calls.evict(name, operator=operator, note=note, token=token))

    def transfer(
        self,
        name: str,
        *,
        operator: str,
        note: str = "",
        to: str | None = None,
        token: int | None = None,
        drain: Seconds | None = None,
    ) -> model.Claim:
        """Hands a lock over to a waiter: the holder is asked to stop, and confirms by releasing. Returns when it is done, with the
        new hold. See `tenure.aio.Client.transfer`."""
        asked = self._calls.transfer(name, operator=operator, note=note, to=to, token=token, drain=drain)
        return run(asked)

    def configure_lock(self, name: str, settings: model.LockSettings, *, operator: str, note: str = "") -> model.Lock:
        """Sets what claims to a lock have to go by, in place of what was set before."""
        return run(self._calls.configure_lock(name, settings, operator=operator, note=note))

    def get_group(self, name: str) -> model.Group:
        """Reads one group. A group that nobody ever joined is an empty group, not an error."""
        return run(self._calls.get_group(name))

    def list_groups(self, prefix: str = "") -> Iterator[model.Group]:
        """The groups that have members or a config and whose names begin with `prefix`, in byte order of their names."""
        return each(self._calls.list_groups(prefix))

    def configure_group(self, name: str, config: str | None, *, expected_revision: int | None = None) -> int:
        """Sets the value that a group shares, or clears it with None, and answers the revision of the event that set it. See
        `tenure.aio.Client.configure_group`."""
        return run(self._calls.configure_group(name, config, expected_revision=expected_revision))
