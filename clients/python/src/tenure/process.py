"""Forks of the process that a client belongs to.

A fork copies a client's memory and shares its sockets, but not its threads, and gRPC does not survive it. So nothing
that was made before a fork may be used in the child, where it is invalid, or be closed or collected there, which would
write to the sockets of the parent.
"""

import asyncio
import ctypes
import gc
import os
import weakref
from typing import Any

from tenure.error import ForkedError


class _Process:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self.connections: weakref.WeakSet[Any] = weakref.WeakSet()
        #: The process before a fork in which gRPC was in use, if there is one.
        self.used_before: int | None = None

    def forked(self) -> None:
        parent, self.pid = self.pid, os.getpid()
        inherited, self.connections = list(self.connections), weakref.WeakSet()
        for connection in inherited:
            connection.forked(parent)
            if connection.loop is None:
                continue
            self.used_before = self.used_before or parent
            for task in asyncio.all_tasks(connection.loop):
                if _is_of_a_client(task):
                    # Otherwise `asyncio.run` would cancel them at its end, and so the calls of the parent.
                    asyncio.tasks._unregister_task(task)
        for thing in gc.get_objects() if self.used_before is not None else ():
            # Channels and calls are closed when they are collected.
            if str(type(thing).__module__).startswith("grpc"):
                keep_forever(thing)


_process = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.forked)


def register(connection: Any) -> None:
    """A client is made in this process. ForkedError if gRPC was in use before the fork that made this process."""
    if _process.used_before is not None:
        remedy = (
            "gRPC does not survive a fork; make the first Client after the fork, or start this process by "
            "multiprocessing's spawn or forkserver"
        )
        raise ForkedError("a client was in use", _process.used_before, remedy)
    _process.connections.add(connection)


def keep_forever(thing: object) -> None:
    """Keeps something even at the end of the interpreter: its channels must not be closed in this process."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _is_of_a_client(task: asyncio.Task[object]) -> bool:
    module = getattr(getattr(task.get_coro(), "cr_frame", None), "f_globals", {}).get("__name__", "")
    return module.split(".")[0] in ("tenure", "grpc")
