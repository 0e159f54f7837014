"""Tenure's client for asyncio: the same names as in `tenure`, with calls that are awaited."""

from tenure.aio.client import Client
from tenure.aio.election import Election
from tenure.aio.group import GroupRequest, Membership
from tenure.aio.guard import Guard, Hold
from tenure.aio.lock import LockRequest
from tenure.aio.session import Session
from tenure.aio.watch import Watch

__all__ = ["Client", "Election", "GroupRequest", "Guard", "Hold", "LockRequest", "Membership", "Session", "Watch"]
