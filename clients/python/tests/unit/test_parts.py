"""The small parts."""

import sys
from datetime import timedelta
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.any_pb2 import Any as Detail
from google.rpc import error_details_pb2, status_pb2

from tenure import v1
from tenure.aio import Client
from tenure.aio.election import leader_after
from tenure.backoff import Backoff
from tenure.clock import seconds, to_wire
from tenure.declare import allow_another, claim_ended
from tenure.error import InvalidError, Lost, LostReason, RefusedError, TenureError, UnavailableError, error_of
from tenure.guard import stop_at
from tenure.options.client import Destination
from tenure.options.endpoint import Endpoint, parse_endpoints
from tenure.options.session import declared_claim, declared_session, program_at_host
from tenure.progress import Progress
from tenure.transport.dial import stagger


def test_pauses_grow_within_their_bounds() -> None:
    backoff = Backoff(0.05, 1.0)
    pauses = [backoff.next_pause() for _ in range(40)]
    assert 0.025 <= pauses[0] <= 0.05
    assert 0.05 <= pauses[1] <= 0.1
    assert all(0.5 <= pause <= 1.0 for pause in pauses[20:])
    backoff.reset()
    assert backoff.next_pause() <= 0.05


def test_next_endpoint_is_tried_in_time_for_the_shortest_validity() -> None:
    assert stagger(0.2, 60) == 0.05
    assert stagger(5, 60) == 0.1
    assert stagger(5, 0.05) == 0.05
    assert stagger(5, 0.001) == 0.01


def test_endpoints_are_separated_by_commas_and_have_a_default_port() -> None:
    assert parse_endpoints("http://a:1, b,https://c,") == [
        Endpoint("a", 1),
        Endpoint("b", 7420),
        Endpoint("c", 7420, is_encrypted=True),
    ]
    assert parse_endpoints(["[::1]"])[0].target == "[::1]:7420"
    assert str(parse_endpoints("https://[::1]:80")[0]) == "https://[::1]:80"


@pytest.mark.parametrize(
    "endpoints",
    ["", "ftp://a", "https://", "http://", "http://a b", "a:b", "a:0", "a:99999", "a:-1", "http://[::1", "://"],
)
def test_invalid_endpoints_are_rejected(endpoints: str) -> None:
    with pytest.raises(InvalidError) as refused:
        Client(endpoints)
    assert refused.value.field == "endpoints"


@pytest.mark.parametrize(("namespace", "is_valid"), [("billing-2", True), ("No Such!", False), ("n" * 64, False)])
def test_invalid_namespaces_are_rejected(namespace: str, is_valid: bool) -> None:
    if is_valid:
        assert Destination.of("a", namespace=namespace).namespace == namespace
        return
    with pytest.raises(InvalidError, match="namespace"):
        Client("a", namespace=namespace)


@pytest.mark.parametrize("option", ["connect_timeout", "call_timeout"])
def test_timeouts_of_zero_are_rejected(option: str) -> None:
    with pytest.raises(InvalidError) as refused:
        Destination.of("a", **{option: 0})  # type: ignore[arg-type]
    assert refused.value.field == option


@pytest.mark.parametrize("request_", ["lock", "locks", "locked", "election", "group"])
def test_unknown_options_are_type_errors(request_: str) -> None:
    with pytest.raises(TypeError, match="tll"):
        getattr(Client(), request_)("x", tll=3)
    with pytest.raises(TypeError, match="unknown"):
        Client(unknown=1)  # type: ignore[call-arg]


async def test_unknown_options_of_sessions_are_type_errors() -> None:
    with pytest.raises(TypeError, match="session_id"):
        await Client().session(session_id="x")  # type: ignore[call-arg]


def test_election_has_no_options_of_shared_locks() -> None:
    options: Any = {"shared": True}
    with pytest.raises(TypeError, match="shared"):
        Client().election("x", **options)


@pytest.mark.parametrize("value", ["5", None, True, b"5"])
def test_durations_are_numbers_or_timedeltas(value: Any) -> None:
    with pytest.raises(TypeError, match="ttl must be seconds"):
        Client().lock("x", ttl=value)


def test_durations_are_seconds() -> None:
    assert seconds(timedelta(milliseconds=1500), "ttl") == seconds(1.5, "ttl") == 1.5
    assert to_wire(1.5, "ttl").ToMilliseconds() == 1500


def test_default_owner_is_program_at_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "host-1")
    for argument, program in (
        ("/srv/jobs/nightly.py", "nightly.py"),
        ("/srv/worker/__main__.py", "worker"),
        ("-c", "python"),
        ("", "python"),
        ("/srv/a\nb", "ab"),
    ):
        monkeypatch.setattr(sys, "argv", [argument])
        assert program_at_host() == declared_session({}).owner == f"{program}@host-1"
    monkeypatch.setattr(sys, "argv", ["ä" * 300])
    assert program_at_host() == "ä" * 127
    assert declared_session({"owner": ""}).owner == ""


def test_names_are_sorted_by_bytes_and_different() -> None:
    assert declared_claim(["b", "a"], {}).names == ["a", "b"]
    for names in ([], ["a", "a"]):
        with pytest.raises(InvalidError, match="names"):
            declared_claim(names, {})


def test_modes_follow_from_options() -> None:
    assert declared_claim(["a"], {}).mode == v1.MODE_EXCLUSIVE
    assert declared_claim(["a"], {"shared": True}).mode == v1.MODE_SHARED
    limited = declared_claim(["a"], {"limit": 3})
    assert (limited.mode, limited.limit) == (v1.MODE_PERMITS, 3)
    with pytest.raises(InvalidError, match="shared"):
        declared_claim(["a"], {"shared": True, "permits": 1})


def test_work_stops_before_the_drain_is_over() -> None:
    for drain, left in [(0.1, 0.08), (1, 0.8), (10, 9), (60, 59), (0.01, 0)]:
        assert stop_at(drain, 100) == pytest.approx(100 + left)


def test_tick_counts_for_its_interval() -> None:
    progress = Progress(5)
    progress.tick(1.0)
    assert not progress.is_stalled(0, 5.999)
    assert progress.is_stalled(0, 6.0)
    assert not progress.is_stalled(60, 64.999), "the first tick is due one interval after the opening"
    assert progress.is_stalled(60, 65.0)
    with pytest.raises(InvalidError, match="stall_after"):
        Client().lock("x", stall_after=0)


def test_losses_have_a_reason_in_words() -> None:
    ended = v1.EndedState(reason=v1.END_REASON_EVICTED, operator="ops", note="stuck")
    assert str(Lost(LostReason.ENDED, ended)) == "evicted by ops (stuck)"
    assert str(Lost(LostReason.ENDED, v1.EndedState(reason=v1.END_REASON_EXPIRED))) == "expired"
    assert all(str(Lost(reason)) for reason in LostReason if reason is not LostReason.ENDED)


def failure(code: grpc.StatusCode, reason: str = "", domain: str = "tenure") -> TenureError:
    details = []
    if reason:
        detail = Detail()
        detail.Pack(error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata={"name": "job"}))
        status = status_pb2.Status(details=[detail])
        details.append(("grpc-status-details-bin", status.SerializeToString()))
    trailing = grpc.aio.Metadata(*details)
    return error_of(grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, "message"))


def test_rejections_have_reason_and_facts() -> None:
    refused = failure(grpc.StatusCode.FAILED_PRECONDITION, "NOT_HOLDER")
    assert isinstance(refused, RefusedError)
    assert (refused.reason, refused.message, refused.metadata["name"]) == ("NOT_HOLDER", "message", "job")
    assert not refused.is_transient
    assert failure(grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE").is_transient


def test_deadline_that_the_server_reports_is_no_rejection() -> None:
    assert isinstance(failure(grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED"), UnavailableError)


def test_reason_of_another_domain_is_ignored() -> None:
    refused = failure(grpc.StatusCode.PERMISSION_DENIED, "DRAINING", "proxy.example")
    assert isinstance(refused, RefusedError)
    assert (refused.reason, refused.is_transient) == ("PERMISSION_DENIED", False)
    assert isinstance(failure(grpc.StatusCode.UNAVAILABLE, "DRAINING", "proxy.example"), UnavailableError)


async def test_another_attempt_is_made_after_temporary_rejections_only() -> None:
    async def is_repeated(error: TenureError, reply: float | None = None) -> bool:
        try:
            await allow_another(error, Backoff(), reply)
        except TenureError as raised:
            return raised is not error
        return True

    def refused(reason: str) -> RefusedError:
        return RefusedError(v1.Refusal(reason=reason))

    assert await is_repeated(refused("STORE_UNAVAILABLE"))
    assert await is_repeated(claim_ended(v1.EndedState(reason=v1.END_REASON_DISCONNECTED)))
    assert not await is_repeated(claim_ended(v1.EndedState(reason=v1.END_REASON_EVICTED)))
    assert not await is_repeated(refused("SESSION_ENDED"))
    assert not await is_repeated(refused("STORE_UNAVAILABLE"), reply=0.0), "it is too late"


def test_leader_follows_from_events() -> None:
    ann = v1.Claim(token=3, owner="ann")

    def event(kind: v1.EventType.ValueType, token: int) -> v1.Event:
        return v1.Event(type=kind, claim=v1.Claim(token=token, owner="ann"))

    assert leader_after(event(v1.EVENT_TYPE_QUEUED, 0), None) is None
    assert leader_after(event(v1.EVENT_TYPE_GRANTED, 3), None) == ann
    assert leader_after(event(v1.EVENT_TYPE_ENDED, 0), ann) == ann, "a waiter left"
    assert leader_after(event(v1.EVENT_TYPE_ENDED, 3), ann) is None
    assert leader_after(event(v1.EVENT_TYPE_LINGERING, 3), ann) is None
