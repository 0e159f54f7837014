"""Errors of calls. A lock held by another claim is no error: see `Busy`."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import grpc
import grpc.aio
from google.rpc import error_details_pb2, status_pb2

from tenure import v1

_DOMAIN = "tenure"
_DETAILS_KEY = "grpc-status-details-bin"
_TRANSIENT = frozenset({"STORE_UNAVAILABLE", "OUTCOME_UNKNOWN", "LEASE_LOST", "DRAINING", "OVERLOADED"})


class LostReason(str, Enum):
    """Why a session or a hold was lost."""

    #: This program released the hold.
    RELEASED = "released"
    #: This program closed the session or the client.
    CLOSED = "closed"
    #: No renewal was acknowledged in time: from now on the server may grant the locks to others.
    UNRENEWED = "unrenewed"
    #: No renewal was sent, because the program made no progress: from now on the server may grant the locks to others.
    STALLED = "stalled"
    #: The server does not have it, or no longer.
    FORGOTTEN = "forgotten"
    #: The server reported its end.
    ENDED = "ended"
    #: Another program uses the client's id.
    IN_USE = "in_use"
    #: This process was made by a fork, and the session belongs to the process before it.
    FORKED = "forked"


_TEXTS = {
    LostReason.RELEASED: "released by this program",
    LostReason.CLOSED: "closed by this program",
    LostReason.UNRENEWED: "no renewal was acknowledged in time",
    LostReason.STALLED: "not renewed, because the program made no progress",
    LostReason.FORGOTTEN: "the server does not have it any more",
    LostReason.IN_USE: "another program uses the client's id",
    LostReason.FORKED: "it belongs to the process before the fork; make a Client after the fork",
}


@dataclass(frozen=True)
class Lost:
    """Why a session or a hold was lost."""

    reason: LostReason
    #: What the server reported, with `LostReason.ENDED`: `reason`, and the `operator` and `note` of an operator's act.
    ended: v1.EndedState | None = None

    def __str__(self) -> str:
        if self.ended is None:
            return _TEXTS[self.reason]
        by = f" by {self.ended.operator}" if self.ended.operator else ""
        note = f" ({self.ended.note})" if self.ended.note else ""
        return f"{word(self.ended.reason)}{by}{note}"


def word(reason: v1.EndReason.ValueType) -> str:
    """An end reason, as in the metadata of errors: such as "expired"."""
    return v1.EndReason.Name(reason).removeprefix("END_REASON_").lower()


class TenureError(Exception):
    """The base of all errors of this library."""

    #: Whether the same call may succeed later, at this or another server.
    is_transient = False


class UnavailableError(TenureError):
    """No server replied within the call's deadline. The request may or may not have taken effect."""

    is_transient = True

    def __init__(self, problem: str) -> None:
        super().__init__(f"no server answered in time: {problem}")
        self.problem = problem


class RefusedError(TenureError):
    """The server rejected the request. Decide by `reason`, never by the text."""

    def __init__(self, refusal: v1.Refusal) -> None:
        super().__init__(refusal.message or refusal.reason)
        self.refusal = refusal
        #: A name of the contract's `ErrorReason` without its prefix, such as `NOT_HOLDER`; or that of a gRPC code if
        #: the rejection is not from the service itself, but for example from a proxy.
        self.reason = refusal.reason
        #: The problem, for people.
        self.message = refusal.message
        #: The facts, by the names that the contract defines for each reason.
        self.metadata: Mapping[str, str] = refusal.metadata
        self.is_transient = refusal.reason in _TRANSIENT


class LostError(TenureError):
    """The session or the hold is lost."""

    def __init__(self, lost: Lost) -> None:
        super().__init__(f"lost: {lost}")
        self.lost = lost


class InvalidError(TenureError):
    """An option is invalid. No request was sent."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"invalid {field}: {problem}")
        self.field = field
        self.problem = problem


class ClosedError(TenureError):
    """The client was closed."""

    def __init__(self) -> None:
        super().__init__("the client was closed")


class ForkedError(TenureError):
    """This process was made by a fork, and the client belongs to the process before it, or gRPC was in use before it:
    gRPC does not survive a fork."""

    def __init__(self, use: str, pid: int, remedy: str) -> None:
        super().__init__(f"{use} in process {pid}, before the fork that made this one: {remedy}")


def error_of(failure: grpc.aio.AioRpcError) -> TenureError:
    """The error of a call that failed."""
    code, message = failure.code(), failure.details() or ""
    # A passed deadline is no rejection, even if the server reports it.
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return UnavailableError(message or code.name)
    for key, value in failure.trailing_metadata() or ():
        for detail in status_pb2.Status.FromString(value).details if key == _DETAILS_KEY else ():
            info = error_details_pb2.ErrorInfo()
            if detail.Unpack(info) and info.domain == _DOMAIN:
                return RefusedError(v1.Refusal(reason=info.reason, message=message, metadata=info.metadata))
    # A broken transport appears as unavailable or unknown, and a connection closed by this library as cancelled.
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.UNKNOWN):
        return UnavailableError(message or code.name)
    return RefusedError(v1.Refusal(reason=code.name, message=message))
