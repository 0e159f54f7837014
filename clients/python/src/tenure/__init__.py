"""Tenure's Python client: the right to be the only one doing something.

`tenure.Client` is for threads, `tenure.aio.Client` for asyncio; both have the same names.
"""

import os

# gRPC's handlers of forks start its threads anew in a child, whatever state they are in, which crashes most children of a process
# with an open stream. Python's own part of gRPC has them off by default. Read by gRPC when it is used first.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from tenure._sync.client import Client
from tenure._sync.election import Election, Leadership
from tenure._sync.group import GroupRequest, Membership
from tenure._sync.lock import Guard, Hold, LockRequest
from tenure._sync.session import Session
from tenure._sync.watch import Watch
from tenure.aio.lock import Done
from tenure.errors import (
    ClosedError,
    ForkedError,
    InvalidError,
    Lost,
    LostError,
    LostReason,
    Refusal,
    RefusedError,
    TenureError,
    UnavailableError,
)
from tenure.handoff import TransferRequest
from tenure.history import HistoryEntry, HistoryLoss, HoldRecord
from tenure.leader import Leader
from tenure.model import (
    Assignments,
    BlockedClaim,
    Busy,
    Claim,
    ClaimState,
    EndReason,
    Event,
    EventKind,
    Events,
    Group,
    GroupEvent,
    GroupEventKind,
    GroupLeader,
    GroupMember,
    HistoryGone,
    HistoryGoneCause,
    Lock,
    LockSettings,
    Metadata,
    Mode,
    PendingTransfer,
    Preempt,
    Progressed,
    SessionInfo,
    Snapshot,
    WatchItem,
)
from tenure.presence import SessionState
from tenure.standing import Standing

__all__ = [
    "Assignments",
    "BlockedClaim",
    "Busy",
    "Claim",
    "ClaimState",
    "Client",
    "ClosedError",
    "Done",
    "Election",
    "EndReason",
    "Event",
    "EventKind",
    "Events",
    "ForkedError",
    "Group",
    "GroupEvent",
    "GroupEventKind",
    "GroupLeader",
    "GroupMember",
    "GroupRequest",
    "Guard",
    "HistoryEntry",
    "HistoryGone",
    "HistoryGoneCause",
    "HistoryLoss",
    "Hold",
    "HoldRecord",
    "InvalidError",
    "Leader",
    "Leadership",
    "Lock",
    "LockRequest",
    "LockSettings",
    "Lost",
    "LostError",
    "LostReason",
    "Membership",
    "Metadata",
    "Mode",
    "PendingTransfer",
    "Preempt",
    "Progressed",
    "Refusal",
    "RefusedError",
    "Session",
    "SessionInfo",
    "SessionState",
    "Snapshot",
    "Standing",
    "TenureError",
    "TransferRequest",
    "UnavailableError",
    "Watch",
    "WatchItem",
]
