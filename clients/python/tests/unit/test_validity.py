"""The same cases as of the Rust client."""

import random

import pytest

from tenure.clock import MILLISECOND, SECOND
from tenure.validity import Phase, Validity, renewal_period, silence_limit

MS = MILLISECOND
TTL = 1200 * MS


def test_it_counts_from_the_sending_and_not_from_the_answer() -> None:
    validity = Validity(TTL, None, 0)
    assert validity.until == (1200 - 12 - 60) * MS
    validity.renewed(TTL, 400 * MS, 700 * MS)
    assert validity.until == (400 + 1200 - 12 - 60) * MS


def test_it_goes_through_its_phases() -> None:
    validity = Validity(TTL, None, 0)
    assert validity.next_change(0) == 728 * MS
    assert validity.phase(727 * MS) == Phase.HEALTHY
    assert validity.phase(728 * MS) == Phase.AT_RISK
    assert validity.next_change(728 * MS) == 1128 * MS
    assert validity.phase(1127 * MS) == Phase.AT_RISK
    assert validity.phase(1128 * MS) == Phase.OVER
    assert validity.next_change(1128 * MS) is None


def test_a_late_answer_revives_nothing() -> None:
    validity = Validity(TTL, None, 0)
    # The process was paused: the renewal was sent in time, but its answer is read after the end.
    validity.renewed(TTL, 1000 * MS, 1130 * MS)
    assert validity.phase(1130 * MS) == Phase.OVER
    assert validity.phase(1000 * MS) == Phase.OVER, "not even for a clock that is read late"


@pytest.mark.parametrize("milliseconds", [100, 500, 1200, 10_000, 86_400_000])
def test_a_failover_fits_into_the_ttl(milliseconds: int) -> None:
    ttl = milliseconds * MS
    # Answered at once, then silence: the next renewal is sent, and waited for.
    noticed = renewal_period(ttl) + silence_limit(ttl)
    assert Validity(ttl, None, 0).until - noticed >= ttl // 4


def test_with_a_grace_it_is_over_when_nothing_was_heard_for_that_long() -> None:
    ttl, grace = 10 * SECOND, 300 * MS
    validity = Validity(ttl, grace, 0)
    assert validity.window == grace
    assert validity.until == (300 - 3 - 15) * MS
    validity.renewed(ttl, 100 * MS, 160 * MS)
    assert validity.until == (100 + 282) * MS
    assert validity.phase(281 * MS) == Phase.HEALTHY
    assert validity.phase(282 * MS) == Phase.AT_RISK
    assert validity.phase(382 * MS) == Phase.OVER
    validity.renewed(ttl, 300 * MS, 383 * MS)
    assert validity.phase(383 * MS) == Phase.OVER


def test_a_grace_that_comes_with_a_new_stream_is_in_force_at_once() -> None:
    ttl = 10 * SECOND
    validity = Validity(ttl, None, 0)
    validity.attached(ttl, 1000 * MS, 50 * MS, 60 * MS)
    assert validity.until == (50 + 1000 - 10 - 50) * MS, "whatever the TTL promised before"
    validity.attached(ttl, None, 100 * MS, 110 * MS)
    assert validity.until == (100 + 10_000 - 100 - 500) * MS


def given_away(ttl: int, grace: int | None, received: int) -> int:
    """A server that gives the session away as early as it may, on a clock that runs as much faster as clocks may."""
    window = ttl if grace is None else min(ttl, grace)
    return received + window * 100 // 101


@pytest.mark.parametrize("seed", range(300))
def test_it_is_never_valid_after_the_server_may_have_given_it_away(seed: int) -> None:
    dice = random.Random(seed)
    ttl = dice.randint(100, 20_000) * MS
    grace = dice.choice([None, min(dice.randint(100, 20_000) * MS, ttl)])
    validity = Validity(ttl, grace, 0)
    received = now = 0
    was_over = False
    for _ in range(40):
        sent = now + dice.randint(0, ttl // 2)
        now = sent + dice.randint(0, ttl // 2)
        if dice.random() < 0.7 and sent < given_away(ttl, grace, received):
            received = sent
            validity.renewed(ttl, sent, now)
        phase = validity.phase(now)
        if phase != Phase.OVER:
            assert not was_over
            assert now < validity.until < given_away(ttl, grace, received)
            change = validity.next_change(now)
            assert change is not None
            assert change > now
        was_over = phase == Phase.OVER
