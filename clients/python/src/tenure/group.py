"""The standing of a member in its group, and assignments."""

from collections.abc import Callable
from dataclasses import dataclass

from tenure import v1
from tenure.error import Lost

#: The assignments of a group, by the members' numbers. Each at most 16384 bytes; all together at most 1048576.
Assignments = dict[int, str]


def assign(group: v1.Group, value: Callable[[int, v1.GroupMember], str]) -> Assignments:
    """Assignments that fit: what `value` returns for each member, given its position in the order of joining, from
    0."""
    return {member.number: value(position, member) for position, member in enumerate(group.members)}


@dataclass(frozen=True)
class Standing:
    """The standing of a member in its group."""

    #: The member's number.
    number: int
    #: The last known state of the group.
    group: v1.Group
    #: Why the membership is lost, if it is. The group may continue without this member.
    lost: Lost | None = None

    @property
    def assignment(self) -> str | None:
        """The assignment of this member. None without one, and after a loss."""
        found = (one for one in self.group.members if one.number == self.number and one.HasField("assignment"))
        return None if self.lost is not None else next((one.assignment for one in found), None)

    @property
    def is_current(self) -> bool:
        """Whether the assignment was computed from the current members and config. If not, the leader has yet to
        compute it."""
        return self.lost is None and self.group.assignments_current

    @property
    def leads(self) -> bool:
        """Whether this member leads."""
        return self.token is not None

    @property
    def token(self) -> int | None:
        """The token by which this member leads, if it does."""
        leads = self.lost is None and self.group.HasField("leader") and self.group.leader.member == self.number
        return self.group.leader.token if leads else None
