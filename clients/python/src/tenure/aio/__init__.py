"""Tenure's client for asyncio: the same names as in `tenure`, with calls that are awaited."""

from tenure.aio.client import Client
from tenure.aio.election import Election, Leadership
from tenure.aio.group import GroupRequest
from tenure.aio.guard import Guard, Hold
from tenure.aio.lock import Done, LockRequest
from tenure.aio.membership import Membership
from tenure.aio.session import Session
from tenure.aio.watch import Watch

__all__ = [
    "Client",
    "Done",
    "Election",
    "GroupRequest",
    "Guard",
    "Hold",
    "Leadership",
    "LockRequest",
    "Membership",
    "Session",
    "Watch",
]
