"""How long a session is valid."""

from __future__ import annotations

from dataclasses import dataclass

from tenure import v1
from tenure.clock import from_wire


@dataclass(frozen=True)
class Validity:
    """The validity of a session, as its server computed it: it counts from when the last acknowledged renewal was sent,
    never from when the acknowledgement arrived."""

    #: When the last acknowledged renewal was sent.
    renewed: float
    #: When the next renewal is due, from then.
    renew_after: float
    #: When the session is at risk, from then.
    warn_after: float
    #: When it is lost, from then.
    valid_for: float

    @classmethod
    def of(cls, state: v1.OpenState, renewed: float) -> Validity:
        """From the state of a session that was renewed at `renewed`."""
        return cls(renewed, from_wire(state.renew_after), from_wire(state.warn_after), from_wire(state.valid_for))

    @property
    def at_risk_from(self) -> float:
        """From when on the session is at risk."""
        return self.renewed + min(self.warn_after, self.valid_for)

    @property
    def until(self) -> float:
        """From when on the session is lost: finally, since the server may have granted its locks to others."""
        return self.renewed + self.valid_for
