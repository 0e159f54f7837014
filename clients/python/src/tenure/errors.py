"""Errors: why a call did not do what it was asked. That somebody else holds a lock is no error: see `Busy`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from tenure.model import EndReason

#: Refusals after which the same call may well succeed later, at this or another server.
TRANSIENT_REASONS = frozenset({"STORE_UNAVAILABLE", "OUTCOME_UNKNOWN", "LEASE_LOST", "DRAINING", "OVERLOADED"})


class LostReason(str, Enum):
    """Why a session or a hold is lost."""

    #: This program released the hold.
    RELEASED = "released"
    #: This program closed the session or the client.
    CLOSED = "closed"
    #: No renewal was answered in time: from now on the server may give the locks to others.
    EXPIRED = "expired"
    #: No renewal was sent, because the program made no progress.
    STALLED = "stalled"
    #: The server knows nothing of it (any more).
    FORGOTTEN = "forgotten"
    #: The server says that it has ended.
    ENDED = "ended"
    #: Another program uses the session's id.
    IN_USE = "in_use"
    #: This process was made by a fork. It is the process before the fork that has the session.
    FORKED = "forked"


_LOST_TEXTS = {
    LostReason.RELEASED: "released by this program",
    LostReason.CLOSED: "closed by this program",
    LostReason.EXPIRED: "no renewal was answered in time",
    LostReason.STALLED: "not renewed, because the program made no progress",
    LostReason.FORGOTTEN: "the server does not know of it any more",
    LostReason.IN_USE: "another program uses the session's id",
    LostReason.FORKED: "it belongs to the process before the fork; make a Client after the fork",
}


@dataclass(frozen=True)
class Lost:
    """Why a session or a hold is lost, with what the server told of it."""

    reason: LostReason
    #: Why the server ended it, with `LostReason.ENDED`.
    end_reason: EndReason | None = None
    #: The operator who ended it, if one did.
    operator: str | None = None
    #: The operator's note.
    note: str | None = None

    def __str__(self) -> str:
        if self.end_reason is None:
            return _LOST_TEXTS.get(self.reason, "ended")
        by = f" by {self.operator}" if self.operator else ""
        note = f" ({self.note})" if self.operator and self.note else ""
        return f"{self.end_reason.value}{by}{note}"


@dataclass(frozen=True)
class Refusal:
    """What a server refused a call with."""

    #: A name of the contract's `ErrorReason` without its prefix, such as `NOT_HOLDER`, or that of a bare gRPC code.
    reason: str
    #: What is wrong, for people.
    message: str = ""
    #: The facts, by the names that the contract gives for each reason.
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_transient(self) -> bool:
        """Whether the same call may well succeed later, at this or another server."""
        return self.reason in TRANSIENT_REASONS

    @property
    def end_reason(self) -> EndReason | None:
        """Why the session or hold ended, if that is why this was refused."""
        word = self.metadata.get("end_reason")
        return None if word is None else EndReason.parse(word)

    def of_release(self) -> TenureError:
        """What a release fails with that was refused: if the hold had been lost before, with that. (That it was released before
        is no refusal: servers answer a repetition as they did the first time.)"""
        if self.reason == "HOLD_ENDED" and self.end_reason is not None:
            return LostError(Lost(LostReason.ENDED, self.end_reason))
        return RefusedError(self)

    @property
    def counted(self) -> int | None:
        """To how many attachments the session's client has counted, if this one is late."""
        count = self.metadata.get("attachment", "") if self.reason == "LATE_ATTACHMENT" else ""
        return int(count) if count.isdecimal() else None

    def __str__(self) -> str:
        return self.message or self.reason


class TenureError(Exception):
    """What all errors of this library are."""

    @property
    def is_transient(self) -> bool:
        """Whether the same call may well succeed later."""
        return False


class UnavailableError(TenureError):
    """No server answered within the call's deadline. What was asked may or may not have taken effect."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"no server answered in time: {problem}")
        self.problem = problem

    @property
    def is_transient(self) -> bool:
        return True


class RefusedError(TenureError):
    """The server refused. Decide by `reason`, never by the text."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal

    @property
    def reason(self) -> str:
        """A name of the contract's `ErrorReason` without its prefix."""
        return self.refusal.reason

    @property
    def message(self) -> str:
        """What is wrong, for people."""
        return self.refusal.message

    @property
    def metadata(self) -> Mapping[str, str]:
        """The facts."""
        return self.refusal.metadata

    @property
    def is_transient(self) -> bool:
        return self.refusal.is_transient


class LostError(TenureError):
    """The session or the hold has been lost."""

    def __init__(self, lost: Lost) -> None:
        super().__init__(f"lost: {lost}")
        self.lost = lost


class InvalidError(TenureError):
    """An option cannot be used. Nothing was asked of a server."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"invalid {field}: {problem}")
        self.field = field
        self.problem = problem


class ClosedError(TenureError):
    """The client was closed."""

    def __init__(self) -> None:
        super().__init__("the client was closed")


class ForkedError(TenureError):
    """This process was made by a fork, and what was asked belongs to the process before the fork, or needs gRPC, which does not
    survive one."""

    @classmethod
    def of_copy(cls, pid: int) -> ForkedError:
        """A client, or something of it, is used in another process than `pid`, in which it was made."""
        return cls(
            f"this client was made in process {pid}; a process made by fork needs its own: make a Client after the fork"
        )

    @classmethod
    def of_grpc(cls, pid: int) -> ForkedError:
        """A client is made after a fork of process `pid`, which had made one."""
        return cls(
            f"a client was made in process {pid} before it forked, and gRPC does not survive a fork: make the first Client after the "
            "fork, or start this process by multiprocessing's spawn or forkserver"
        )
