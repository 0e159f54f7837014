"""What the server says about claims."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tenure import convert
from tenure._engine.claims import Entry, Grant, Stage
from tenure._engine.sessions import Live
from tenure.clock import SECOND
from tenure.errors import Lost, LostReason, Refusal, RefusedError
from tenure.handoff import TransferRequest
from tenure.model import Busy, Claim, ClaimState, EndReason
from tenure.presence import HoldPresence
from tenure.progress import Progress
from tenure.v1 import lock_pb2
from tenure.v1 import stream_pb2 as pb

if TYPE_CHECKING:
    from tenure._engine.engine import Engine

log = logging.getLogger("tenure")


class Grants:
    """Grants, refusals and the ends of holds."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def acquired(self, entry: Entry, answer: lock_pb2.AcquireResponse, now: int) -> None:
        """An acquire was answered."""
        claims = self._engine.claims
        if entry.stage == Stage.STOPPING:
            if answer.acquired:
                claims.send(entry, now)
            else:
                claims.end(entry, now)
        elif entry.stage != Stage.ASKING:
            return
        elif answer.acquired:
            self._granted(entry, answer.token, now)
        elif entry.wait_until is None:
            # Nothing ends a wait without end but its client: so it is asked anew.
            claims.retry(entry, now)
        else:
            claims.end(entry, now)
            entry.reply.ok(Busy(convert.claim_in(answer, "holder")))

    def refused(self, entry: Entry, refusal: Refusal, now: int) -> None:
        """A command about a claim was refused."""
        if self._engine.sessions.ended_by_refusal(entry.live.id, refusal, now):
            return
        for_now = self._engine.is_for_now(refusal)
        if refusal.reason == "NOT_ATTACHED":
            self._engine.sessions.moved(entry.live.id, now)
            return
        if entry.stage == Stage.STOPPING:
            # Whatever the refusal says: it was about the acquire.
            self._engine.claims.send(entry, now)
            return
        # The server gave the place in the queue up because it did not see this client in time: it is still wanted.
        unseen = refusal.reason == "CLAIM_ENDED" and refusal.end_reason == EndReason.DISCONNECTED
        if for_now or (unseen and entry.stage == Stage.ASKING):
            entry.refusal = refusal
            self._engine.claims.retry(entry, now)
            return
        stage, released = entry.stage, entry.released
        self._engine.claims.end(entry, now)
        if stage == Stage.ASKING:
            entry.reply.fail(RefusedError(refusal))
        elif stage == Stage.RELEASING and released is not None:
            released.fail(refusal.of_release())
        elif stage == Stage.WITHDRAWING:
            log.warning("a claim of session %s was not withdrawn: %s", entry.live.id, refusal)

    def compare(self, live: Live, told: Iterable[Claim], revision: int, now: int) -> None:
        """The session was attached anew: what has become of its holds meanwhile."""
        told = tuple(told)
        held = {claim.token: claim for claim in told if claim.state == ClaimState.HELD}
        for entry in tuple(live.claims.values()):
            if entry.stage != Stage.HELD or entry.hold is None:
                continue
            claim = held.get(entry.hold.token)
            # Those granted after the revision the server could not know of yet.
            if claim is None and entry.hold.token <= revision:
                self._end_hold(entry, Lost(LostReason.FORGOTTEN), now)
            elif claim is not None and claim.transfer is not None and entry.hold.transfer_request is None:
                drain = round(claim.transfer.drain * SECOND)
                entry.hold.hand_over(TransferRequest.received(drain, "", "", now))
        known = {entry.spec.names for entry in live.claims.values()}
        for claim in told:
            # What is asked for again, the server grants anew.
            if claim.names not in known:
                self._give_back(live, claim, now)

    def noticed(self, notice: pb.Answer, now: int) -> None:
        """The server says that a hold has ended, or asks to hand over."""
        told = notice.hold_ended if notice.HasField("hold_ended") else notice.transfer_requested
        live = self._engine.sessions.get(told.session_id)
        if live is None:
            return
        entry = live.holds.get(told.token)
        if entry is None:
            # Kept until it is known whether these locks were granted: answers and notices come by different ways through the
            # server, and the one may overtake the other. Only the first in its lines asks.
            first = live.turns.first_in_way(told.names)
            asking = None if first is None else live.claims[first]
            if asking is not None and asking.stage == Stage.ASKING and asking.spec.names == tuple(told.names):
                asking.early = notice
        elif notice.HasField("hold_ended"):
            ended = notice.hold_ended
            reason = convert.end_reason(ended)
            self._end_hold(entry, Lost(LostReason.ENDED, reason, ended.operator or None, ended.note or None), now)
        elif entry.hold is not None:
            asked = notice.transfer_requested
            log.info("session %s is asked to hand over %s", live.id, entry.spec.names)
            drain = convert.from_wire(asked.drain)
            entry.hold.hand_over(TransferRequest.received(drain, asked.operator, asked.note, now))

    def _granted(self, entry: Entry, token: int, now: int) -> None:
        within = entry.spec.stall_after
        progress = None if within is None else Progress(within, now)
        entry.hold = HoldPresence(entry.live.presence, entry.spec.names, token, progress)
        entry.stage = Stage.HELD
        entry.live.holds[token] = entry
        if progress is not None:
            entry.live.progress_of_holds[entry.key] = progress
        early, entry.early = entry.early, None
        if early is not None:
            self.noticed(early, now)
        if not entry.reply.ok(Grant(entry, entry.hold)):
            # Nobody waits for it any more.
            self._engine.claims.drop(entry, now)

    def _end_hold(self, entry: Entry, lost: Lost, now: int) -> None:
        self._engine.claims.end(entry, now)
        if entry.hold is not None:
            log.warning("session %s has lost the hold of %s: %s", entry.live.id, entry.spec.names, lost)
            entry.hold.end(lost)

    def _give_back(self, live: Live, stray: Claim, now: int) -> None:
        """Gives back what nobody here holds or asks for: it was given back, but the database has lost that."""
        namespace = self._engine.namespace
        if stray.state == ClaimState.HELD and stray.token is not None:
            release = lock_pb2.ReleaseRequest(
                namespace=namespace, name=stray.names[0], session_id=live.id, token=stray.token
            )
            command = pb.Command(release=release)
        elif stray.state == ClaimState.WAITING:
            cancel = lock_pb2.CancelAcquireRequest(namespace=namespace, names=stray.names, session_id=live.id)
            command = pb.Command(cancel_acquire=cancel)
        else:
            return
        log.warning("session %s gives back %s, as it did before", live.id, stray.names)

        def answered(answer: pb.Answer, _: int, now: int) -> None:
            if not answer.HasField("refusal"):
                return
            refusal = convert.refusal(answer.refusal)
            if self._engine.sessions.ended_by_refusal(live.id, refusal, now):
                return
            # What a refusal leaves behind is looked at again when the session is attached again.
            if self._engine.is_for_now(refusal) or refusal.reason == "NOT_ATTACHED":
                self._engine.sessions.moved(live.id, now)

        self._engine.send(command, answered, now)
