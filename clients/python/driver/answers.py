"""Replies."""

from typing import Any

from driver.mistake import Mistake
from tenure import (
    Busy,
    ClosedError,
    InvalidError,
    Lost,
    LostError,
    LostReason,
    RefusedError,
    Standing,
    TenureError,
    v1,
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
    # The scenarios have another word for it.
    reply = {"reason": "expired" if reason.reason is LostReason.UNRENEWED else reason.reason.value}
    ended = reason.ended
    if ended is not None:
        facts = {"end_reason": end_reason(ended.reason), "operator": ended.operator, "note": ended.note}
        reply |= {field: value for field, value in facts.items() if value}
    return reply


def end_reason(reason: v1.EndReason.ValueType) -> str | None:
    return v1.EndReason.Name(reason).removeprefix("END_REASON_").lower() if reason else None


def session(session: Session) -> dict[str, Any]:
    return {"state": session.state.value, "valid": session.is_valid(), "lost": lost(session.lost_reason)}


def hold(hold: Hold) -> dict[str, Any]:
    return {"valid": hold.is_valid(), "token": hold.token, "lost": lost(hold.lost_reason)}


def busy(busy: Busy) -> dict[str, Any]:
    return {"acquired": False, "holder": claim(busy.holder) if busy.holder else None}


def claim(claim: v1.Claim) -> dict[str, Any]:
    return {
        "session_id": claim.session_id,
        "owner": claim.owner,
        "token": claim.token or None,
        "mode": v1.Mode.Name(claim.mode).removeprefix("MODE_").lower(),
        "priority": claim.priority,
        "metadata": dict(claim.metadata),
    }


def lock(lock: v1.Lock) -> dict[str, Any]:
    holders, waiters = ([claim(one) for one in claims] for claims in (lock.holders, lock.waiters))
    return {"name": lock.name, "holders": holders, "waiters": waiters}


def leader(leader: v1.Claim | None) -> dict[str, Any]:
    if leader is None:
        return {"leader": None}
    return {"leader": {"session_id": leader.session_id, "owner": leader.owner, "token": leader.token}}


def events(event: v1.Event) -> list[dict[str, Any]]:
    """An event, once for each of its locks."""
    return [
        {
            "revision": event.revision,
            "name": name,
            "kind": v1.EventType.Name(event.type).removeprefix("EVENT_TYPE_").lower(),
            "session_id": event.claim.session_id if event.HasField("claim") else None,
            "token": event.claim.token or None,
            "end_reason": end_reason(event.end_reason),
            "vacant": name in event.vacant_names,
        }
        for name in event.names
    ]


def group_event(event: v1.GroupEvent) -> dict[str, Any]:
    has_member = event.HasField("member")
    return {
        "revision": event.revision,
        "group": event.group,
        "kind": v1.GroupEventType.Name(event.type).removeprefix("GROUP_EVENT_TYPE_").lower(),
        "number": event.member.number if has_member else None,
        "session_id": event.member.session_id if has_member else None,
        "end_reason": end_reason(event.end_reason),
        "leader": event.leader or None,
        "config": event.config if event.HasField("config") else None,
    }


def group(group: v1.Group) -> dict[str, Any]:
    members = [
        {
            "number": member.number,
            "session_id": member.session_id,
            "owner": member.owner,
            "metadata": dict(member.metadata),
            "assignment": member.assignment if member.HasField("assignment") else None,
        }
        for member in group.members
    ]
    leads = group.leader if group.HasField("leader") else None
    return {
        "name": group.name,
        "members": members,
        "leader": {"number": leads.member, "token": leads.token, "session_id": leads.session_id} if leads else None,
        "config": group.config if group.HasField("config") else None,
        "config_revision": group.config_revision,
        "current": group.assignments_current,
    }


def standing(standing: Standing | None) -> dict[str, Any]:
    if standing is None:
        return {}
    return {
        "leads": standing.leads,
        "token": standing.token,
        "number": standing.number,
        "assignment": standing.assignment,
        "current": standing.is_current,
        "members": [member.number for member in standing.group.members],
        "config": standing.group.config if standing.group.HasField("config") else None,
        "lost": lost(standing.lost),
    }


def item(response: v1.WatchResponse) -> dict[str, Any]:
    kind, revision = response.WhichOneof("kind"), response.revision
    if kind == "history_gone":
        cause = v1.HistoryGoneCause.Name(response.history_gone.cause).removeprefix("HISTORY_GONE_CAUSE_").lower()
        return {"kind": kind, "cause": cause}
    if kind == "snapshot":
        locks, groups = [lock(one) for one in response.snapshot.locks], [group(one) for one in response.snapshot.groups]
        return {"kind": kind, "revision": revision, "locks": locks, "groups": groups}
    if kind == "events":
        return {
            "kind": kind,
            "revision": revision,
            "events": [one for event in response.events.events for one in events(event)],
            "group_events": [group_event(one) for one in response.events.group_events],
            "groups": [group(one) for one in response.events.groups],
        }
    return {"kind": "progress", "revision": revision}
