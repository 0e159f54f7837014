"""Pauses between tries of a command that was refused for now."""

from tenure._link.backoff import Backoff
from tenure.clock import MILLISECOND

FIRST_PAUSE = 20 * MILLISECOND
LONGEST_PAUSE = 500 * MILLISECOND


def backoff() -> Backoff:
    """The pauses of one command."""
    return Backoff(FIRST_PAUSE, LONGEST_PAUSE)
