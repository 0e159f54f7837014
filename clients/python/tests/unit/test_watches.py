"""Watches: put together, resumed, stopped for readers that are behind."""

from tenure._engine.watches import ITEMS_IN_QUEUE, Watched
from tenure.clock import SECOND
from tenure.model import Events, HistoryGone, HistoryGoneCause, Snapshot
from tenure.v1 import lock_pb2, watch_pb2
from tests.unit.bench import Bench


def watched(bench: Bench, after: int = 0) -> Watched:
    watch = Watched(("job",), (), (), after, lambda: None)
    bench.engine.watches.start(watch, bench.now)
    return watch


def events(revision: int) -> watch_pb2.WatchResponse:
    return watch_pb2.WatchResponse(revision=revision, events=watch_pb2.Events())


def test_a_reader_that_is_behind_stops_its_watch_and_misses_nothing() -> None:
    bench = Bench()
    watch = watched(bench, after=4)
    command = bench.said_once("watch")
    for revision in range(5, 5 + ITEMS_IN_QUEUE + 3):
        bench.hear(command, watch=events(revision))
    assert bench.said_once("cancel").cancel.command_id == command.id
    read = [bench.engine.watches.next(watch, bench.now) for _ in range(ITEMS_IN_QUEUE)]
    assert [item.revision for item in read if isinstance(item, Events)] == list(range(5, 5 + ITEMS_IN_QUEUE))
    assert bench.said_once("watch").watch.after_revision == 4 + ITEMS_IN_QUEUE


def test_a_watch_goes_on_where_it_was_on_a_new_stream() -> None:
    bench = Bench()
    watch = watched(bench)
    bench.hear(bench.said_once("watch"), watch=events(7))
    bench.reconnect()
    assert bench.said_once("watch").watch.after_revision == 7
    assert len(watch.items) == 1


def test_the_parts_of_a_snapshot_are_put_together_and_begin_anew_on_a_new_stream() -> None:
    bench = Bench()
    watch = watched(bench)

    def part(name: str, more: bool) -> watch_pb2.WatchResponse:
        snapshot = watch_pb2.Snapshot(locks=[lock_pb2.Lock(name=name)], more=more)
        return watch_pb2.WatchResponse(revision=9, snapshot=snapshot)

    bench.hear(bench.said_once("watch"), watch=part("lost", True))
    bench.reconnect()
    command = bench.said_once("watch")
    assert command.watch.after_revision == 0
    bench.hear(command, watch=part("a", True))
    bench.hear(command, watch=part("b", False))
    item = watch.items.popleft()
    assert isinstance(item, Snapshot)
    assert [lock.name for lock in item.locks] == ["a", "b"]


def test_after_lost_history_a_snapshot_is_asked_for() -> None:
    bench = Bench()
    watch = watched(bench, after=4)
    gone = watch_pb2.HistoryGone(cause=watch_pb2.HISTORY_GONE_CAUSE_COMPACTED)
    bench.hear(bench.said_once("watch"), watch=watch_pb2.WatchResponse(revision=4, history_gone=gone))
    assert watch.items.popleft() == HistoryGone(HistoryGoneCause.COMPACTED)
    bench.reconnect()
    assert bench.said_once("watch").watch.after_revision == 0


def test_a_refusal_for_now_is_asked_again_and_any_other_ends_the_watch() -> None:
    bench = Bench()
    watch = watched(bench)
    bench.refuse(bench.said_once("watch"), "OVERLOADED")
    bench.pass_time(SECOND)
    bench.refuse(bench.said_once("watch"), "INVALID_FIELD")
    assert watch.is_over
    assert watch.error is not None
