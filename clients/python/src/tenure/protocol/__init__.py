"""The state that a client declares to the service: its sessions, claims and memberships, by number. No I/O and no
randomness: the transport passes in the time and the received messages, and takes out messages and changed items. (Only
whether a session is lost is decided by the clock, when a handle asks.)

Every stream begins with a Hello that states everything, so a lost message, a lost stream and a first connection are one
code path: what the server has not confirmed is stated again, and what is not stated ends there. A number is declared
once, and its item remains in the table until the server has reported its end.

Relies on the order of messages within a stream.
"""

import math
from collections import deque
from dataclasses import replace

from tenure import v1
from tenure.error import Lost, LostReason
from tenure.protocol.item import Declared, End, Item
from tenure.protocol.keep_alive import PATIENCE, PROBE_AFTER, KeepAlives
from tenure.protocol.stream import CHANGES_PER_MESSAGE, Stream, declarations, hello
from tenure.protocol.validity import Validity

__all__ = ["Declared", "End", "Item", "Protocol"]

#: The most bytes of declarations that no server has confirmed. A Hello repeats them, within the contract's bound of 1
#: MiB.
UNCONFIRMED_BYTES = 900_000
#: The ends that a withdrawal leads to.
_BY_CLIENT = (v1.END_REASON_RELEASED, v1.END_REASON_TRANSFERRED, v1.END_REASON_CLOSED)


class Protocol:
    """The table, and the current stream."""

    def __init__(self, namespace: str, client_id: str) -> None:
        """A client without anything. The id is random, and used by this program only."""
        self.items: dict[int, Item] = {}
        #: What has changed since the last look: the end of an item is its last change.
        self.changed: deque[Item] = deque()
        self._namespace = namespace
        self._client_id = client_id
        self._epoch = 0
        self._last_number = 0
        self._stream: Stream | None = None
        #: The token of a hold from before the last loss of history is less than this one.
        self._lost_revision = 0
        self._keep_alives = KeepAlives()
        #: No later than the end of any session's validity.
        self._next_expiry = math.inf
        #: What has a greater number has yet to be sent.
        self._last_sent = 0
        #: The bytes of the declarations that were sent, and that no server has confirmed.
        self._unconfirmed = 0

    @property
    def shortest_validity(self) -> float:
        """The shortest time for which a session is valid; infinite without one."""
        return self._keep_alives.shortest

    @property
    def needs_stream(self) -> bool:
        """Whether to connect to a server: without a stream, or to another one, while this stream is used until then."""
        return self._stream is None or self._stream.is_left

    @property
    def timeout(self) -> float:
        """When to call `handle_timeout` next."""
        stream = self._stream
        if stream is None:
            return self._next_expiry
        probe = math.inf
        if stream.asked is not None:
            probe = stream.asked + (PATIENCE if stream.is_probed else PROBE_AFTER)
        leave = math.inf if stream.is_left else min(self._keep_alives.patience_ends, probe)
        return min(self._next_expiry, self._keep_alives.due, leave)

    def declare(
        self, *, open: Declared | None = None, session: Item | None = None, part: Declared | None = None
    ) -> Item:
        """Declares a session, or something in one, or both. Returns the item of the last. Their numbers are set
        here."""
        first = self._last_number + 1
        for declared in (open, part):
            if declared is not None:
                self._last_number += 1
                if not isinstance(declared, v1.DeclaredSession):
                    declared.number = self._last_number
                item = self.items[self._last_number] = Item(self._last_number, first, declared, session)
                session = item.session
                if not item.is_session:
                    session.parts[item.number] = item
        if session is None or session.number not in self.items or session.withdrawn is not None:
            self._end(item, Lost(LostReason.FORGOTTEN))
        return item

    def withdraw(self, item: Item, now: float) -> None:
        """Withdraws an item, with everything in it."""
        if item.withdrawn is not None or item.number not in self.items:
            return
        for one in (*item.parts.values(), item):
            if one.sent is None:
                self._end(one, one.by_program())
            elif one.withdrawn is None:
                one.withdrawn = self._epoch
                if one.declared is not None:
                    self._unconfirmed, one.size = self._unconfirmed - one.size, 0
                self.changed.append(one)
        if item.sent is not None:
            self._send(v1.Change(withdraw=item.number), now)

    def pause(self, session: Item, now: float) -> None:
        """Keep-alives no longer renew the session."""
        if session.paused is None and session.validity is not None and session.number in self.items:
            session.paused = self._keep_alives.last_number + 1
            self.changed.append(session)
            self._send(v1.Change(pause=session.number), now)

    def resume(self, session: Item, now: float) -> None:
        """Keep-alives renew the session again."""
        if session.paused is not None and session.number in self.items:
            session.renewed_from, session.paused = self._keep_alives.last_number + 1, None
            self.changed.append(session)
            self._send(v1.Change(resume=session.number), now)
            # Its acknowledgement is that of the change, too.
            self._send_keep_alive(now)
            self._keep_alives.plan(self.items.values(), now)

    def handle_connected(self, now: float) -> int:
        """A stream was opened: the current one from now on, on which everything is stated. Returns its epoch."""
        self._expire(now)
        self._epoch += 1
        stream = self._stream = Stream(self._epoch, self._keep_alives.add_hello(now), now)
        stated = [item for item in self.items.values() if item.is_stated]
        for item in stated:
            item.sent = now
        self._unconfirmed = sum(item.size for item in stated if item.declared is not None)
        stream.outgoing.append(hello(stated, self._namespace, self._client_id, self._epoch))
        self._keep_alives.plan(self.items.values(), now)
        for item in stated:
            # A session is withdrawn with everything in it.
            if item.withdrawn is not None and (item.is_session or item.session.withdrawn is None):
                stream.add(v1.Change(withdraw=item.number), now)
        return self._epoch

    def handle_disconnected(self, epoch: int) -> None:
        """The stream of this epoch is gone. No effect if there is a later one."""
        if self._epoch == epoch:
            self._stream = None

    def handle_superseded(self, epoch: int, new_client_id: str) -> None:
        """The stream of this epoch was ended because the client has connected again. If it has not, another program
        uses its id: everything is lost, and the client continues under the new id."""
        if self._epoch == epoch:
            self._client_id, self._stream = new_client_id, None
            for item in list(self.items.values()):
                self._end(item, Lost(LostReason.IN_USE))

    def handle_rejected(self, refusal: v1.Refusal, now: float) -> None:
        """The credentials are rejected by every server: what no server has confirmed ends."""
        for item in list(self.items.values()):
            if item.declared is not None:
                self._abandon(item, refusal, now)

    def handle_response(self, epoch: int, response: v1.ConnectResponse, now: float) -> None:
        """Processes a message from the stream of this epoch."""
        # First, because a session that was valid too long ago stays lost, whatever has arrived.
        self._expire(now)
        stream = self._stream
        if stream is None or stream.epoch != epoch:
            return
        kind = response.WhichOneof("kind")
        if kind == "kept_alive":
            self._kept_alive(response.kept_alive.number, now)
        elif kind == "welcome":
            self._welcomed(stream, response.welcome)
        elif kind == "states":
            stream.asked = None
            for state in response.states.states:
                self._state(stream, state, now)
        elif kind == "going_away":
            stream.is_left = True

    def handle_timeout(self, now: float) -> None:
        """Does what is due at `now`."""
        self._expire(now)
        stream = self._stream
        if stream is None:
            return
        if self._keep_alives.due <= now:
            self._keep_alives.plan(self.items.values(), now)
            if self._keep_alives.due < math.inf:
                self._send_keep_alive(now)
        if self._keep_alives.patience_ends <= now:
            stream.is_left = True
        if stream.asked is not None and stream.asked + PATIENCE <= now:
            stream.asked = None
            stream.is_left = stream.is_left or not self._has_open_session()
        elif stream.asked is not None and stream.asked + PROBE_AFTER <= now and not stream.is_probed:
            stream.is_probed = True
            self._send_keep_alive(now)

    def poll_transmit(self, now: float) -> v1.ConnectRequest | None:
        """The next message to send on the current stream, which is sent at `now`."""
        stream = self._stream
        if stream is None:
            return None
        if not stream.outgoing:
            for declaration in declarations(self._take_unsent(now)):
                stream.add(v1.Change(declare=declaration), now)
        return stream.outgoing.popleft() if stream.outgoing else None

    def _take_unsent(self, now: float) -> list[Item]:
        """What is to be declared now, in one message, as far as the bound on what is unconfirmed allows. What was
        declared together is sent together."""
        taken = list[Item]()
        while self._last_sent < self._last_number:
            item = self.items.get(self._last_sent + 1)
            is_full = self._unconfirmed > UNCONFIRMED_BYTES or len(taken) >= CHANGES_PER_MESSAGE
            if item is not None and item.first == item.number and is_full:
                break
            self._last_sent += 1
            if item is not None and item.withdrawn is None:
                item.sent = now
                self._unconfirmed += item.size
                taken.append(item)
        return taken

    def _send(self, change: v1.Change, now: float) -> None:
        if self._stream is not None:
            self._stream.add(change, now)

    def _send_keep_alive(self, now: float) -> None:
        if self._stream is not None:
            keep_alive = v1.KeepAlive(number=self._keep_alives.add(now))
            self._stream.outgoing.append(v1.ConnectRequest(keep_alive=keep_alive))

    def _welcomed(self, stream: Stream, welcome: v1.Welcome) -> None:
        """The Hello has been reconciled: what it did not state has ended."""
        self._lost_revision = welcome.lost_revision
        self._keep_alives.acknowledge(stream.hello)
        for item in list(self.items.values()):
            if not item.is_stated and item.withdrawn is not None and item.withdrawn < stream.epoch:
                self._end(item, item.by_program())

    def _state(self, stream: Stream, state: v1.State, now: float) -> None:
        """Processes the state of one number. What is withdrawn has only an end; what is not in the table, nothing."""
        item, kind = self.items.get(state.number), state.WhichOneof("kind")
        if item is None:
            return
        if item.withdrawn is None:
            self._confirm(item)
        if (kind == "held" and item.token not in (0, state.held.token)) or (kind == "waiting" and item.token):
            # The database has lost the history in which the claim was granted: others may have held its locks since. So
            # it was not released, even if it is withdrawn.
            item.withdrawn = None
            self._abandon(item, Lost(LostReason.FORGOTTEN), now)
        elif kind == "ended":
            lost = Lost(LostReason.ENDED, state.ended) if state.ended.reason else Lost(LostReason.FORGOTTEN)
            self._end(item, lost)
        elif kind == "busy":
            self._end(item, state.busy)
        elif kind == "rejected":
            self._leave_if_rejected(stream, state.rejected)
            self._end(item, state.rejected)
        elif item.withdrawn is None and kind == "open":
            self._opened(stream, item, state.open, now)
        elif item.withdrawn is None and kind is not None:
            item.state, item.state_at, item.token = getattr(state, kind), now, state.held.token
            self.changed.append(item)

    def _opened(self, stream: Stream, item: Item, state: v1.OpenState, now: float) -> None:
        """A session is open, according to the current stream."""
        if item.lost is not None:
            # Handles have seen its end, which is final, before this arrived.
            self._abandon(item, item.lost, now)
            return
        # If it was declared on this stream after the Hello, that declaration is later.
        renewed = item.validity.renewed if item.validity is not None else item.sent or 0.0
        if item.is_renewed_by(stream.hello):
            renewed = max(renewed, stream.connected)
        item.state, item.state_at, item.epoch = state, now, stream.epoch
        item.validity = Validity.of(state, renewed)
        if item.paused is None:
            self._keep_alives.include(item.validity, renewed)
        self._next_expiry = min(self._next_expiry, item.validity.until)
        self.changed.append(item)
        # The reply may have taken longer than the session is valid.
        self._expire(now)

    def _kept_alive(self, number: int, now: float) -> None:
        sent = self._keep_alives.acknowledge(number)
        for item in list(self.items.values()):
            # A session that this stream has not reported may have ended.
            if sent is None or item.validity is None or item.withdrawn is not None or item.epoch != self._epoch:
                continue
            if item.lost is not None:
                self._abandon(item, item.lost, now)
            elif item.is_renewed_by(number) and sent > item.validity.renewed:
                was_at_risk = now >= item.validity.at_risk_from
                item.validity = replace(item.validity, renewed=sent)
                if was_at_risk:
                    self.changed.append(item)

    def _expire(self, now: float) -> None:
        """Ends the sessions that are lost."""
        if self._next_expiry > now:
            return
        self._next_expiry = math.inf
        for item in list(self.items.values()):
            if item.validity is None or item.withdrawn is not None:
                continue
            if (lost := item.lost or item.expired(now)) is not None:
                self._abandon(item, lost, now)
            else:
                self._next_expiry = min(self._next_expiry, item.validity.until)

    def _leave_if_rejected(self, stream: Stream, refusal: v1.Refusal) -> None:
        """Another server may do what this one cannot: at once if it is the server's own state that it reports, or if no
        session depends on this one."""
        is_its_own = refusal.reason in ("DRAINING", "LEASE_LOST")
        is_temporary = refusal.reason in ("STORE_UNAVAILABLE", "OUTCOME_UNKNOWN")
        if is_its_own or (is_temporary and not self._has_open_session()):
            stream.is_left = True

    def _has_open_session(self) -> bool:
        return any(item.validity is not None and item.withdrawn is None for item in self.items.values())

    def _abandon(self, item: Item, end: End, now: float) -> None:
        """Ends what this client must not use any more. The server may still have it: others need not wait for its
        end."""
        if item.number in self.items:
            self._end(item, end)
            self._send(v1.Change(withdraw=item.number), now)

    def _confirm(self, item: Item) -> None:
        """A server has reported an item."""
        if item.declared is not None and item.sent is not None:
            self._unconfirmed -= item.size
            item.declared = None

    def _end(self, item: Item, end: End) -> None:
        """Ends an item, with everything in it."""
        if self.items.pop(item.number, None) is None:
            return
        self._confirm(item)
        for part in list(item.parts.values()):
            self._end(part, end)
        item.session.parts.pop(item.number, None)
        if item.withdrawn is not None and isinstance(end, Lost):
            was_lost = 0 < item.token < self._lost_revision
            if (end.reason is LostReason.FORGOTTEN and not was_lost) or (
                end.ended is not None and end.ended.reason in _BY_CLIENT
            ):
                end = item.by_program()
        item.end = end
        self.changed.append(item)
