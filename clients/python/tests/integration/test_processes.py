"""The ends of processes, and forks of them."""

import os
import subprocess
import sys
import textwrap
import time

import pytest

from tenure import Client
from tests.integration.server import PATIENCE, Server

#: Longer than any test: a lock that is free within it was not freed by its TTL.
TTL = 120

FORK = """
import os, sys, signal
from tenure import *
client = Client(sys.argv[1], call_timeout=10)
session = client.session(ttl=5)
guard = session.lock("job").acquire()
watch = client.watch(v1.WatchRequest(names=["job"]))
next(watch)

def fails(act, kind, text):
    try:
        act()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(act)

def child():
    parent = str(os.getppid())
    assert not guard.is_valid() and not guard.hold.is_valid() and not session.is_valid()
    assert session.valid_for == 0 and session.state is SessionState.LOST
    assert guard.lost_reason.reason is LostReason.FORKED and session.lost(1).reason is LostReason.FORKED
    fails(guard.check, LostError, "make a Client after the fork")
    fails(guard.release, LostError, "make a Client after the fork")
    for act in (
        lambda: client.get_lock("job"),
        lambda: client.lock("other").try_acquire(),
        lambda: session.lock("other").try_acquire(),
        lambda: client.election("e").campaign(),
        lambda: client.group("g").join(),
        lambda: next(watch),
        lambda: next(client.watch()),
    ):
        fails(act, ForkedError, f"in process {parent}, before the fork that made this one: make a Client after it")
    fails(lambda: Client(sys.argv[1]), ForkedError, "make the first Client after the fork")
    watch.close()
    session.close()
    client.close()
"""

SEQUEL = """
assert status == 0, status
# As long as it takes for a renewal that was lost to be noticed.
assert session.lost(6) is None
assert guard.is_valid()
assert client.get_lock("job").holders[0].token == guard.token
guard.release()
client.close()
print("unharmed")
"""

AIO = """
import asyncio, os, sys
from tenure import ForkedError, LostReason
from tenure.aio import Client

async def main():
    client = Client(sys.argv[1], call_timeout=10)
    guard = await client.lock("job", ttl=5).acquire()
    pid = os.fork()
    if pid == 0:
        assert not guard.is_valid() and guard.lost_reason.reason is LostReason.FORKED
        sys.exit(0)
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
    try:
        await asyncio.wait_for(guard.lost(), 6)
    except asyncio.TimeoutError:
        pass
    assert guard.is_valid()
    await guard.release()
    await client.close()
    print("unharmed")

asyncio.run(main())
"""


def run(program: str, server: Server) -> "subprocess.CompletedProcess[str]":
    arguments = [sys.executable, "-c", textwrap.dedent(program), server.endpoint]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE * 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize(
    "fork",
    [
        "pid = os.fork()\nif pid == 0:\n    child()\n    sys.exit(0)\n_, status = os.waitpid(pid, 0)\n",
        "import multiprocessing\nprocess = multiprocessing.get_context('fork').Process(target=child)\n"
        "process.start()\nprocess.join()\nstatus = process.exitcode\n",
    ],
    ids=["os.fork", "multiprocessing"],
)
def test_fork_leaves_the_parent_unharmed_and_the_child_with_clear_errors(server: Server, fork: str) -> None:
    ran = run(FORK + fork + SEQUEL, server)
    assert ran.stdout == "unharmed\n", ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_fork_in_an_event_loop_leaves_the_parent_unharmed(server: Server) -> None:
    ran = run(AIO, server)
    assert ran.stdout == "unharmed\n", ran.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_fork_before_the_first_client_gives_workers_that_work(server: Server) -> None:
    prefork = """
    import os, sys
    from tenure import Client
    workers = []
    for name in ("a", "b"):
        pid = os.fork()
        if pid == 0:
            with Client(sys.argv[1], call_timeout=10) as client, client.lock("job", owner=name) as hold:
                assert hold.is_valid()
            sys.exit(0)
        workers.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in workers] == [0, 0]
    print("worked")
    """
    assert run(prefork, server).stdout == "worked\n"


SYNC_LEFT = """
    import sys
    from tenure import Client
    client = Client(sys.argv[1], call_timeout=10)
    session = client.session(ttl=120, id="left")
    guard = session.lock("job").acquire()
"""

AIO_LEFT = """
    import asyncio, sys
    from tenure.aio import Client

    async def main():
        global client, session, guard
        client = Client(sys.argv[1], call_timeout=10)
        session = await client.session(ttl=120, id="left")
        guard = await session.lock("job").acquire()
        {end}

    asyncio.run(main())
"""


@pytest.mark.parametrize("end", ["pass", "sys.exit(0)", "raise ValueError"])
@pytest.mark.parametrize("surface", ["sync", "aio"])
def test_program_that_ends_without_close_releases_its_locks_with_a_warning(
    server: Server, surface: str, end: str
) -> None:
    ran = run(SYNC_LEFT + f"    {end}\n" if surface == "sync" else AIO_LEFT.format(end=end), server)
    assert "without closing its client" in ran.stderr
    assert "sessions left, locks job" in ran.stderr
    with Client(server.endpoint, call_timeout=10) as client:
        assert not client.get_lock("job").holders


def test_program_that_ends_without_close_is_not_held_up_by_a_server_that_hangs(server: Server) -> None:
    program = SYNC_LEFT + "    print('held', flush=True)\n    sys.stdin.read()\n"
    arguments = [sys.executable, "-c", textwrap.dedent(program), server.endpoint]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        server.freeze()
        try:
            began = time.monotonic()
            process.stdin.close()
            process.wait(PATIENCE)
            # A second, and the end of the interpreter on a machine that is busy; without a bound it would be the call's
            # 10 s.
            assert time.monotonic() - began < 6
        finally:
            server.thaw()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_client_that_was_not_used_before_a_fork_is_rejected_with_the_remedy(server: Server) -> None:
    program = """
    import os, sys
    from tenure import Client, ForkedError
    client = Client(sys.argv[1], call_timeout=10)
    pid = os.fork()
    if pid == 0:
        try:
            client.lock("job").acquire()
        except ForkedError as error:
            assert "before the fork that made this one: make a Client after it" in str(error), error
            with Client(sys.argv[1], call_timeout=10) as own, own.lock("job") as hold:
                assert hold.is_valid()
            sys.exit(0)
        sys.exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    with client.lock("job") as hold:
        assert hold.is_valid()
    client.close()
    print("unharmed")
    """
    ran = run(program, server)
    assert ran.stdout == "unharmed\n", ran.stderr
