"""The refusal of a fence."""

import re

from tenure.error import TenureError

#: As the fence says it. Each driver adds something of its own, before or after. SQLite reports no numbers.
_REFUSAL = re.compile(r"\bstale fencing token\b(?: \d+: (\d+) is the highest seen for )?")


class StaleTokenError(TenureError):
    """Another holder has taken over: end the work under this token."""

    def __init__(self, name: str, token: int, highest: int) -> None:
        super().__init__(f"stale fencing token {token}: {highest} is the highest seen for {name}")
        #: What is protected.
        self.name = name
        #: The token that was refused.
        self.token = token
        #: The highest one that the database has seen for the name.
        self.highest = highest


def staleness(error: Exception) -> tuple[bool, int | None]:
    """Whether a database has refused a token, and the highest one seen if the error contains it."""
    said = _REFUSAL.search(str(error))
    if said is None:
        return False, None
    return True, None if said[1] is None else int(said[1])
