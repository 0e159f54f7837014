"""Prints the holders of locks, as they change.

`python examples/watch.py PREFIX`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420).
"""

import sys

from tenure import Client, v1


def report(event: v1.Event) -> None:
    kind = v1.EventType.Name(event.type).removeprefix("EVENT_TYPE_").lower()
    reason = v1.EndReason.Name(event.end_reason).removeprefix("END_REASON_").lower() if event.end_reason else ""
    for name in event.names:
        vacant = " vacant" if name in event.vacant_names else ""
        print(f"{kind} name={name} revision={event.revision} owner={event.claim.owner} {reason}{vacant}", flush=True)


prefix = sys.argv[1] if len(sys.argv) > 1 else ""
with Client.from_env() as client, client.watch(v1.WatchRequest(prefixes=[prefix])) as watch:
    for response in watch:
        if response.HasField("snapshot"):
            print(f"snapshot revision={response.revision}", flush=True)
            for lock in response.snapshot.locks:
                holder = lock.holders[0].owner if lock.holders else "none"
                print(f"lock name={lock.name} holder={holder} waiters={lock.waiter_count}", flush=True)
        elif response.HasField("history_gone"):
            cause = v1.HistoryGoneCause.Name(response.history_gone.cause)
            print(f"history is gone: {cause.removeprefix('HISTORY_GONE_CAUSE_').capitalize()}", flush=True)
        for event in response.events.events:
            report(event)
