"""Tenure's Python client: locks, leadership, watches and groups.

`tenure.Client` is for threads, `tenure.aio.Client` for asyncio; both have the same names. `tenure.v1` has the
contract's messages.
"""

import os

# gRPC's handlers of forks restart its threads in a child, whatever their state, which crashes most children of a
# process with an open stream. They are off by default in Python's own part of gRPC. Read by gRPC when it is used first.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from tenure import v1
from tenure._sync.client import Client, Watch
from tenure._sync.election import Election
from tenure._sync.group import GroupRequest, Membership
from tenure._sync.lock import Guard, Hold, LockRequest, Session
from tenure.declare import Busy
from tenure.error import (
    ClosedError,
    ForkedError,
    InvalidError,
    Lost,
    LostError,
    LostReason,
    RefusedError,
    TenureError,
    UnavailableError,
)
from tenure.group import Assignments, Standing, assign
from tenure.guard import TransferRequest
from tenure.session import SessionState

__all__ = [
    "Assignments",
    "Busy",
    "Client",
    "ClosedError",
    "Election",
    "ForkedError",
    "GroupRequest",
    "Guard",
    "Hold",
    "InvalidError",
    "LockRequest",
    "Lost",
    "LostError",
    "LostReason",
    "Membership",
    "RefusedError",
    "Session",
    "SessionState",
    "Standing",
    "TenureError",
    "TransferRequest",
    "UnavailableError",
    "Watch",
    "assign",
    "v1",
]
