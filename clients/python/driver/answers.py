"""What is answered."""

from typing import Any

from driver.mistake import Mistake
from tenure import (
    Busy,
    Claim,
    ClosedError,
    Event,
    Events,
    Group,
    GroupEvent,
    HistoryGone,
    InvalidError,
    Leader,
    Lock,
    Lost,
    LostError,
    RefusedError,
    Snapshot,
    Standing,
    TenureError,
    WatchItem,
)
from tenure.aio import Hold, Session


def failure(error: TenureError | Mistake) -> dict[str, Any]:
    message = str(error)
    if isinstance(error, RefusedError):
        metadata = dict(error.metadata)
        return {"kind": "refused", "reason": error.reason, "message": message, "metadata": metadata}
    if isinstance(error, LostError):
        return {"kind": "lost", "lost": lost(error.lost), "message": message}
    if isinstance(error, InvalidError):
        return {"kind": "invalid", "field": error.field, "message": message}
    if isinstance(error, ClosedError):
        return {"kind": "closed", "message": message}
    kind = "driver" if isinstance(error, Mistake) else "unavailable"
    return {"kind": kind, "message": message}


def lost(reason: Lost | None) -> dict[str, Any] | None:
    if reason is None:
        return None
    told = {"reason": reason.reason.value}
    ended = {
        "end_reason": reason.end_reason.value if reason.end_reason else None,
        "operator": reason.operator,
        "note": reason.note,
    }
    return told | {field: value for field, value in ended.items() if value is not None}


def session(told: Session) -> dict[str, Any]:
    return {"state": told.state.value, "valid": told.is_valid(), "lost": lost(told.lost_reason)}


def hold(told: Hold) -> dict[str, Any]:
    return {"valid": told.is_valid(), "token": told.token, "lost": lost(told.lost_reason)}


def busy(told: Busy) -> dict[str, Any]:
    return {"acquired": False, "holder": claim(told.holder) if told.holder else None}


def claim(told: Claim) -> dict[str, Any]:
    return {
        "session_id": told.session_id,
        "owner": told.owner,
        "token": told.token,
        "mode": told.mode.value,
        "priority": told.priority,
        "metadata": told.metadata,
    }


def lock(told: Lock) -> dict[str, Any]:
    holders, waiters = ([claim(one) for one in claims] for claims in (told.holders, told.waiters))
    return {"name": told.name, "holders": holders, "waiters": waiters}


def leader(told: Leader | None) -> dict[str, Any]:
    if told is None:
        return {"leader": None}
    return {"leader": {"session_id": told.session_id, "owner": told.owner, "token": told.token}}


def event(told: Event) -> dict[str, Any]:
    return {
        "revision": told.revision,
        "name": told.name,
        "kind": told.kind.value,
        "session_id": told.claim.session_id if told.claim else None,
        "token": told.claim.token if told.claim else None,
        "end_reason": told.end_reason.value if told.end_reason else None,
        "vacant": told.vacant,
    }


def group_event(told: GroupEvent) -> dict[str, Any]:
    return {
        "revision": told.revision,
        "group": told.group,
        "kind": told.kind.value,
        "number": told.member.number if told.member else None,
        "session_id": told.member.session_id if told.member else None,
        "end_reason": told.end_reason.value if told.end_reason else None,
        "leader": told.leader,
        "config": told.config,
    }


def group(told: Group) -> dict[str, Any]:
    members = [
        {
            "number": member.number,
            "session_id": member.session_id,
            "owner": member.owner,
            "metadata": member.metadata,
            "assignment": member.assignment,
        }
        for member in told.members
    ]
    leads = told.leader
    return {
        "name": told.name,
        "members": members,
        "leader": {"number": leads.member, "token": leads.token, "session_id": leads.session_id} if leads else None,
        "config": told.config,
        "config_revision": told.config_revision,
        "current": told.assignments_current,
    }


def standing(told: Standing | None) -> dict[str, Any]:
    if told is None:
        return {}
    return {
        "leads": told.leads,
        "token": told.token,
        "number": told.number,
        "assignment": told.assignment,
        "current": told.is_current,
        "members": [member.number for member in told.group.members],
        "config": told.group.config,
        "lost": lost(told.lost),
    }


def item(told: WatchItem) -> dict[str, Any]:
    if isinstance(told, HistoryGone):
        return {"kind": "history_gone", "cause": told.cause.value}
    if isinstance(told, Snapshot):
        locks, groups = [lock(one) for one in told.locks], [group(one) for one in told.groups]
        return {"kind": "snapshot", "revision": told.revision, "locks": locks, "groups": groups}
    if isinstance(told, Events):
        return {
            "kind": "events",
            "revision": told.revision,
            "events": [event(one) for one in told.events],
            "group_events": [group_event(one) for one in told.group_events],
            "groups": [group(one) for one in told.groups],
        }
    return {"kind": "progress", "revision": told.revision}
