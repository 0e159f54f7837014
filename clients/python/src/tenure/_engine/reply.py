"""Where answers go."""

from collections.abc import Callable
from typing import Generic, TypeVar

from tenure.errors import TenureError

T = TypeVar("T")


class Reply(Generic[T]):
    """An answer that is on its way. It comes once; whoever waits for it may stop waiting."""

    def __init__(self, told: Callable[["Reply[T]"], None] | None = None) -> None:
        self.value: T | None = None
        self.error: TenureError | None = None
        self.is_done = False
        self.is_wanted = True
        self._told = told

    def ok(self, value: T) -> bool:
        """Answers, and whether anybody heard it."""
        self.value = value
        return self._settle()

    def fail(self, error: TenureError) -> bool:
        """As `ok`, if it did not go well."""
        self.error = error
        return self._settle()

    def drop(self) -> None:
        """Nobody waits for it any more."""
        self.is_wanted = False

    def _settle(self) -> bool:
        if self.is_done or not self.is_wanted:
            return False
        self.is_done = True
        if self._told is not None:
            self._told(self)
        return True
