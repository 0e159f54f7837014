"""Pauses between attempts: longer each time, and different for each client."""

import random


class Backoff:
    """Doubling pauses, in seconds, each drawn from the upper half of its step. The defaults are those between attempts
    of a call."""

    def __init__(self, first: float = 0.02, longest: float = 0.5) -> None:
        self._first = first
        self._longest = longest
        self._tries = 0

    def next_pause(self) -> float:
        """The pause before the next attempt."""
        step = min(self._first * (1 << min(self._tries, 16)), self._longest)
        self._tries += 1
        return step * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """Starts again with a short pause, after a success."""
        self._tries = 0
