"""Who leads, by what is told of a lock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tenure.model import Claim, Event, EventKind, Metadata


@dataclass(frozen=True)
class Leader:
    """Who leads."""

    #: The fencing token of the leadership.
    token: int
    session_id: str
    owner: str
    metadata: Metadata

    @classmethod
    def of(cls, claim: Claim | None) -> Leader | None:
        """The leader whose claim this is."""
        if claim is None or claim.token is None:
            return None
        return cls(claim.token, claim.session_id, claim.owner, claim.metadata)


def leader_after(events: Iterable[Event], leader: Leader | None) -> Leader | None:
    """Who leads after these events, if this one did before them."""
    for event in events:
        if event.kind in (EventKind.GRANTED, EventKind.TRANSFERRED, EventKind.UPDATED):
            leader = Leader.of(event.claim)
        elif event.kind in (EventKind.ENDED, EventKind.LINGERING):
            # The end of a waiter's claim changes nothing.
            ended = event.claim.token if event.claim is not None else None
            if event.vacant or (leader is not None and leader.token == ended):
                leader = None
    return leader
