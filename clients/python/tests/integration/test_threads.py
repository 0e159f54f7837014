"""The client for threads."""

import signal
import threading
import warnings
from collections.abc import Iterator

import pytest

from tenure import Busy, Client, ClosedError, Hold, LostError, LostReason, Standing, assign, v1
from tests.integration.server import PATIENCE, Server, until
from tests.integration.waiting import holder


@pytest.fixture
def threads(server: Server) -> Iterator[Client]:
    with Client(server.endpoint, call_timeout=10) as client:
        yield client


def test_lock_is_held_tried_and_released(threads: Client) -> None:
    with threads.lock("job", owner="ann") as hold:
        hold.check()
        assert hold.lost(timeout=0.01) is None
        busy = threads.lock("job").try_acquire()
        assert isinstance(busy, Busy)
        assert busy.holder is not None
        assert busy.holder.token == hold.token
        assert not threads.lock("job").acquire_within(0.05)
    guard = threads.lock("job").try_acquire()
    assert guard
    assert guard.token > hold.token
    guard.update_metadata({"phase": "end"})
    assert dict(holder(threads.get_lock("job")).metadata) == {"phase": "end"}
    guard.release()
    ran = threads.lock("job").try_run(lambda hold: hold.token)
    assert isinstance(ran, int)
    assert ran > guard.token


def test_body_that_lost_its_hold_sees_it_in_between_and_at_its_end(threads: Client) -> None:
    reached_the_end = False
    with pytest.raises(LostError), threads.lock("job") as hold:
        threads.evict(v1.EvictRequest(name="job", operator="ops", token=hold.token))
        lost = hold.lost(PATIENCE)
        assert lost is not None
        assert lost.ended is not None
        assert lost.ended.operator == "ops"
        with pytest.raises(LostError):
            hold.check()
        reached_the_end = True
    assert reached_the_end, "a thread is not cancelled"


def test_threads_take_turns_in_one_session(threads: Client) -> None:
    inside: list[int] = []
    most: list[int] = []
    with threads.session() as session:

        def work() -> None:
            with session.lock("job") as hold:
                inside.append(hold.token)
                most.append(len(inside))
                inside.remove(hold.token)

        workers = [threading.Thread(target=work) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(PATIENCE)
    assert most == [1] * 8


def test_decorated_function_runs_under_the_lock(threads: Client) -> None:
    @threads.locked("job", owner="decorated")
    def function(number: int) -> tuple[int, str]:
        return number, holder(threads.get_lock("job")).owner

    assert function(7) == (7, "decorated")


def test_watches_and_lists_are_iterated(threads: Client) -> None:
    with threads.watch(v1.WatchRequest(names=["job"])) as watch:
        assert next(watch).HasField("snapshot")
        with threads.lock("job"):
            assert [lock.name for lock in threads.list_locks()] == ["job"]
        kinds = [event.type for response in (next(watch), next(watch)) for event in response.events.events]
        assert kinds == [v1.EVENT_TYPE_GRANTED, v1.EVENT_TYPE_ENDED]
    with pytest.raises(StopIteration):
        next(watch)


def test_leader_loop_ends_with_its_client(server: Server) -> None:
    ran = threading.Semaphore(0)
    ended: list[BaseException] = []
    client = Client(server.endpoint)

    def lead() -> None:
        try:
            client.election("boss").lead_every(0.02, lambda _: ran.release())
        except ClosedError as error:
            ended.append(error)

    thread = threading.Thread(target=lead)
    thread.start()
    for _ in range(3):
        assert ran.acquire(timeout=PATIENCE)
    client.close()
    thread.join(PATIENCE)
    assert len(ended) == 1


def test_leader_only_functions_run_only_while_leading(threads: Client) -> None:
    election = threads.election("boss")
    job = election.leader_only(lambda: "ran")
    assert job() is None
    with election:
        until(lambda: election.leadership is not None)
        assert job() == "ran"
    assert election.leader() is None


def test_leader_resigns_only_when_leader_only_functions_have_ended(threads: Client) -> None:
    election = threads.election("boss")
    begun, may_end = threading.Event(), threading.Event()
    ended: list[bool] = []

    def work() -> None:
        begun.set()
        assert may_end.wait(PATIENCE)
        ended.append(election.leader() is not None)

    with election:
        until(lambda: election.leadership is not None)
        running = threading.Thread(target=election.leader_only(work))
        running.start()
        assert begun.wait(PATIENCE)
        ending = threading.Timer(0.2, may_end.set)
        ending.start()
    running.join(PATIENCE)
    assert ended == [True], "it led for as long as the job ran"
    assert election.leader() is None


def test_body_that_returns_leads_again(threads: Client) -> None:
    tokens: list[int] = []

    def body(hold: Hold) -> None:
        tokens.append(hold.token)
        if len(tokens) == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        threads.election("boss").lead(body)
    assert tokens == sorted(set(tokens))
    assert threads.election("boss").leader() is None


def test_changes_of_a_group_are_reported_in_this_thread(threads: Client) -> None:
    here = threading.current_thread()

    def on_change(standing: Standing) -> None:
        assert threading.current_thread() is here
        if standing.assignment == "0":
            raise StopAsyncIteration

    with pytest.raises(StopAsyncIteration):
        threads.group("work").take_part(lambda group: assign(group, lambda position, _: str(position)), on_change)
    until(lambda: not threads.get_group("work").members)


def test_session_has_a_state(threads: Client) -> None:
    session = threads.session(ttl=5, disconnect_grace=2, owner="ann")
    assert (session.ttl, session.disconnect_grace, session.owner) == (5.0, 2.0, "ann")
    assert 0 < session.valid_for < 2
    session.close()
    lost = session.lost()
    assert lost is not None
    assert lost.reason == LostReason.CLOSED
    assert session.valid_for == 0


class Timeout(Exception):
    """Raised by a signal in the midst of a call."""


@pytest.mark.filterwarnings(
    "ignore:coroutine .* was never awaited",
    # Raised within a callback of the garbage collector.
    "ignore::pytest.PytestUnraisableExceptionWarning",
)
def test_storm_of_interrupted_acquires_leaves_no_session(threads: Client) -> None:
    def interrupt(_: int, __: object) -> None:
        raise Timeout

    interrupted = 0
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with warnings.catch_warnings():
            # A guard that was interrupted between its acquisition and its assignment is released when it is collected.
            warnings.simplefilter("ignore", ResourceWarning)
            for number in range(3000):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0005 + number % 40 / 20_000)
                    guard = threads.lock(f"job-{number % 50}", ttl=60).acquire()
                    guard.release()
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Timeout:
                    interrupted += 1
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    guard = None  # type: ignore[assignment]
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 0
    until(lambda: not list(threads.list_sessions()))


def test_wait_that_is_interrupted_leaves_nothing(threads: Client) -> None:
    def interrupt(_: int, __: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with threads.lock("job") as hold:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(KeyboardInterrupt):
                threads.lock("job").acquire()
            until(lambda: threads.get_lock("job").waiter_count == 0)
            assert hold.is_valid()
    finally:
        signal.signal(signal.SIGALRM, before)
