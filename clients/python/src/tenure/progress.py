"""Progress: a program's own word that it goes on, without which its sessions are not renewed."""

from tenure.errors import InvalidError


class Progress:
    """Takes a tick in each `within`. Ticking is one assignment: any thread may do it, and a tight loop too."""

    def __init__(self, within: int, now: int) -> None:
        """Its first tick is now."""
        if within <= 0:
            raise InvalidError("stall_after", "it is to be more than zero")
        self.within = within
        self._told = now

    def tick(self, now: int) -> None:
        """The program gets on."""
        self._told = now

    def is_stalled(self, since: int, now: int) -> bool:
        """Whether it is stalled at `now`, for something that began at `since`: what was told before that does not count."""
        return now - max(self._told, since) >= self.within
