"""The examples are programs that work, and print what those of the other languages print."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tenure import Client
from tests.integration.server import PATIENCE, Server

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def started(server: Server, name: str, *arguments: str, endpoints: str | None = None) -> "subprocess.Popen[str]":
    environment = {**os.environ, "TENURE_ENDPOINTS": endpoints or server.endpoint}
    environment.pop("TENURE_NAMESPACE", None)
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)


def said(server: Server, name: str, *arguments: str) -> list[str]:
    """What a program that ends by itself prints, with its numbers left out."""
    with started(server, name, *arguments) as program:
        output, _ = program.communicate(timeout=30)
    assert program.returncode == 0
    return [re.sub(r"=\d+", "=N", line) for line in output.splitlines()]


@contextmanager
def running(
    server: Server, name: str, *arguments: str, endpoints: str | None = None
) -> Iterator["subprocess.Popen[str]"]:
    with started(server, name, *arguments, endpoints=endpoints) as program:
        # A line that it never prints fails the test by its end.
        deadline = threading.Timer(PATIENCE * 2, program.kill)
        deadline.start()
        try:
            yield program
        finally:
            deadline.cancel()
            program.kill()


def says(program: "subprocess.Popen[str]", begin: str) -> str:
    """Reads on to the next line that begins so."""
    assert program.stdout is not None
    line = next((line for line in program.stdout if line.startswith(begin)), None)
    assert line is not None, f"it ended before {begin}"
    return line.rstrip("\n")


def test_basic(server: Server) -> None:
    assert said(server, "basic") == ["acquired token=N", "valid=true", "released"]


def test_try_lock(server: Server) -> None:
    assert said(server, "try_lock", "first") == ["running token=N", "done"]
    assert said(server, "try_lock", "second") == ["busy holder=first"]


def test_fenced_write(server: Server, tmp_path: Path) -> None:
    assert said(server, "fenced_write", str(tmp_path / "work.db")) == [
        "acquired token=N",
        "wrote",
        "acquired token=N",
        "wrote",
        "refused token=N highest=N",
    ]


def test_guides(server: Server, tmp_path: Path) -> None:
    assert said(server, "guides/from_aioredlock") == ["works token=N", "works token=N", "valid=True locked=True"]
    assert said(server, "guides/from_a_lock_table", str(tmp_path / "work.db")) == [
        "wrote 1",
        "held=True",
        "token=N evicted by=me",
    ]


def test_leader_loop(server: Server) -> None:
    with running(server, "leader_loop", "first") as first:
        assert says(first, "candidate") == "candidate first"
        token = says(first, "work token=")
        assert says(first, "work token=") == token
        with running(server, "leader_loop", "second") as second:
            assert says(second, "candidate") == "candidate second"
            first.kill()
            assert says(second, "work token=") != token
            second.send_signal(signal.SIGINT)
            assert says(second, "stopping") == "stopping"


def test_watch(server: Server) -> None:
    with running(server, "watch", "jo") as program, Client(server.endpoint) as client:
        says(program, "snapshot revision=")
        client.lock("job", owner="ann").acquire().release()
        assert re.fullmatch(r"granted name=job revision=\d+ owner=ann ", says(program, "granted"))
        assert re.fullmatch(r"ended name=job revision=\d+ owner=ann released vacant", says(program, "ended"))


def test_declared_stream(tmp_path: Path) -> None:
    base, _, _ = os.environ["TEST_POSTGRES_URL"].rpartition("/")
    database = f"declared_{os.getpid()}"
    with psycopg.connect(os.environ["TEST_POSTGRES_URL"], autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {database}")
    servers = [Server(folder(tmp_path, name), store_url=f"{base}/{database}") for name in ("one", "two")]
    try:
        for server in servers:
            server.start()
        endpoints = ",".join(server.endpoint for server in servers)
        with running(servers[0], "declared_stream", "job", endpoints=endpoints) as program:
            assert says(program, "session") == "session open token=0"
            held = says(program, "lock held")
            servers[0].kill()
            assert says(program, "disconnected") == "disconnected UNAVAILABLE"
            assert says(program, "lock held") == held
            assert program.stdin is not None
            program.stdin.close()
            assert says(program, "session ended")
            assert program.wait(PATIENCE) == 0
    finally:
        for server in servers:
            server.kill()


def folder(path: Path, name: str) -> Path:
    (path / name).mkdir()
    return path / name


def test_group_throughput(server: Server) -> None:
    with Client(server.endpoint) as client, running(server, "group_throughput", "first") as first:
        client.configure_group("throughput", "1000")
        assert says(first, "share=1000") == "share=1000 of=1000 members=1 leader"
        with running(server, "group_throughput", "second") as second:
            assert says(second, "share=") == "share=500 of=1000 members=2 member"
            says(first, "share=500")
        assert says(first, "share=1000") == "share=1000 of=1000 members=1 leader"
