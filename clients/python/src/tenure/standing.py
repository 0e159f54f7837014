"""Where a member stands in its group."""

from dataclasses import dataclass

from tenure.errors import Lost
from tenure.model import Group


@dataclass(frozen=True)
class Standing:
    """Where a member stands in its group."""

    #: The member's number.
    number: int
    #: The group, as it was heard of last.
    group: Group
    #: Why the membership is lost, if it is. The others may go on without this member.
    lost: Lost | None = None

    @property
    def assignment(self) -> str | None:
        """What is assigned to this member. None if nothing is, and after a loss."""
        member = None if self.lost is not None else self.group.member(self.number)
        return None if member is None else member.assignment

    @property
    def is_current(self) -> bool:
        """Whether that is the assignment for the members and the config that are there now. If not, the leader has yet to compute
        it."""
        return self.lost is None and self.group.assignments_current

    @property
    def leads(self) -> bool:
        """Whether this member leads."""
        return self.token is not None

    @property
    def token(self) -> int | None:
        """The token by which this member leads, if it does."""
        leader = self.group.leader if self.lost is None else None
        return leader.token if leader is not None and leader.member == self.number else None
