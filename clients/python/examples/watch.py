"""Prints who holds what, as it changes.

`python examples/watch.py PREFIX`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420).
"""

import sys

from tenure import Client, Event, Events, HistoryGone, Snapshot


def tell(event: Event) -> None:
    owner = event.claim.owner if event.claim else ""
    reason = event.end_reason.value if event.end_reason else ""
    vacant = " vacant" if event.vacant else ""
    print(f"{event.kind.value} name={event.name} revision={event.revision} owner={owner} {reason}{vacant}", flush=True)


prefix = sys.argv[1] if len(sys.argv) > 1 else ""
with Client.from_env() as client, client.watch(prefixes=[prefix]) as watch:
    for told in watch:
        if isinstance(told, Snapshot):
            print(f"snapshot revision={told.revision}", flush=True)
            for lock in told.locks:
                holder = lock.holder.owner if lock.holder else "nobody"
                print(f"lock name={lock.name} holder={holder} waiters={lock.waiter_count}", flush=True)
        elif isinstance(told, Events):
            for event in told.events:
                tell(event)
        elif isinstance(told, HistoryGone):
            print(f"history is gone: {told.cause.value.capitalize()}", flush=True)
