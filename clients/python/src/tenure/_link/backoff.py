"""Pauses between tries: longer each time, and never the same for all clients."""

import random


class Backoff:
    """Doubling pauses with jitter: each is drawn from the upper half of its step."""

    def __init__(self, first: int, longest: int) -> None:
        self._first = first
        self._longest = longest
        self._tries = 0

    def next_pause(self) -> int:
        """The pause before the next try."""
        step = min(self._first << min(self._tries, 16), self._longest)
        self._tries += 1
        return round(step * random.uniform(0.5, 1.0))

    def reset(self) -> None:
        """It went well: the next pause is short again."""
        self._tries = 0
