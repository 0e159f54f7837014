"""The local queue: claims of one session that share a name take turns, because to the server asking twice is asking once."""

from collections import deque
from collections.abc import Iterable


class Turns:
    """One line of claims for each name.

    A claim stands in the lines of all its names from asking until its hold has ended; it may ask the server when it is first in
    all of them. All enter their lines at once, so nobody waits in a circle.
    """

    def __init__(self) -> None:
        self._lines: dict[str, deque[int]] = {}

    def join(self, claim: int, names: Iterable[str]) -> bool:
        """Enters the lines. Answers whether the claim is first in all of them."""
        lines = [self._lines.setdefault(name, deque()) for name in names]
        for line in lines:
            line.append(claim)
        return all(line[0] == claim for line in lines)

    def is_first(self, claim: int, names: Iterable[str]) -> bool:
        """Whether a claim that is in its lines is first in all of them."""
        return all(self._lines[name][0] == claim for name in names)

    def first_in_way(self, names: Iterable[str]) -> int | None:
        """The claim that is first in the line of one of these names, if any is."""
        return next((self._lines[name][0] for name in names if name in self._lines), None)

    def leave(self, claim: int, names: Iterable[str]) -> list[int]:
        """Leaves the lines. Answers which claims are first in one of them now."""
        first: list[int] = []
        for name in names:
            line = self._lines[name]
            line.remove(claim)
            if not line:
                del self._lines[name]
            elif line[0] not in first:
                first.append(line[0])
        return first
