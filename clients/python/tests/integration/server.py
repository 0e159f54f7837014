"""A server of one's own: a process on a free port, with a database file."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

#: Below the range of ephemeral ports, so that no outgoing connection takes the port of a server that is stopped.
PORTS = range(10_000, 20_000)
#: Sockets, each at a port that is of this process.
CLAIMS: list[socket.socket] = []

#: How long whatever is waited for may take on a busy machine, in seconds.
PATIENCE = 20.0


class Server:
    """A tenured that can be killed, frozen and started again on its port."""

    def __init__(self, folder: Path, *arguments: str | Path, store_url: str | None = None) -> None:
        self._folder = folder
        self._store_url = store_url or f"sqlite:{folder / 'tenure.db'}"
        self._arguments = arguments
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        program = os.environ.get("TENURED", "tenured")
        arguments = [program, "--store-url", self._store_url, "--data-dir", str(self._folder)]
        arguments += ["--listen", f"127.0.0.1:{self.port}", "--admin-listen", "127.0.0.1:0", *map(str, self._arguments)]
        log = (self._folder / "tenured.log").open("ab")
        with contextlib.closing(log):
            self._process = subprocess.Popen(arguments, stdout=log, stderr=log)
        until(self._listens)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "the server has ended"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False


def free_port() -> int:
    """A port without a listener. Until this process ends, no other test gets it: the UDP port of the same number is in
    use."""
    for port in random.sample(PORTS, len(PORTS)):
        claim = socket.socket(type=socket.SOCK_DGRAM)
        with contextlib.suppress(OSError):
            claim.bind(("127.0.0.1", port))
            socket.create_server(("127.0.0.1", port)).close()
            CLAIMS.append(claim)
            return port
        claim.close()
    raise AssertionError("no port is free")


def until(is_met: Callable[[], bool]) -> None:
    """Waits for a condition."""
    deadline = time.monotonic() + PATIENCE
    while not is_met():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.01)
