"""The process that a client belongs to, which is the one that it was made in, and the end of that process.

A fork copies a client's memory and shares its sockets, but not its threads, and gRPC does not survive it. So nothing that was made
before a fork may be used in the child, where it is invalid, or be closed or collected there, which would write to the sockets of
the parent.
"""

import asyncio
import ctypes
import os
import weakref
from typing import Protocol

from tenure.errors import ForkedError


class Leavable(Protocol):
    """What a child of a fork leaves alone."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...


class Origin:
    """The process in which something was made."""

    __slots__ = ("pid",)

    def __init__(self) -> None:
        self.pid = _here.pid

    @property
    def is_here(self) -> bool:
        """Whether that is this process. Cheap: no system call."""
        return self.pid == _here.pid

    def check(self) -> None:
        """Raises ForkedError in any other process."""
        if not self.is_here:
            raise ForkedError.of_copy(self.pid)


class _Here:
    """What is known of this process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        #: The process before a fork in which gRPC was in use already, if there is one.
        self.spoilt_by: int | None = None
        self.is_grpc_used = False
        self.used: weakref.WeakSet[Leavable] = weakref.WeakSet()

    def forked(self) -> None:
        """This process is the child of a fork."""
        parent, self.pid = self.pid, os.getpid()
        if self.is_grpc_used and self.spoilt_by is None:
            self.spoilt_by = parent
        inherited, self.used = list(self.used), weakref.WeakSet()
        for one in inherited:
            keep_for_ever(one)
            for task in asyncio.all_tasks(one.loop):
                if _is_of_a_client(task):
                    # Else `asyncio.run` would cancel them at its end, which would cancel the calls of the parent.
                    asyncio.tasks._unregister_task(task)


_here = _Here()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_here.forked)


def uses_grpc(user: Leavable) -> None:
    """Something that uses gRPC is made in this process. ForkedError if gRPC was in use before a fork that made this process."""
    if _here.spoilt_by is not None:
        raise ForkedError.of_grpc(_here.spoilt_by)
    _here.is_grpc_used = True
    _here.used.add(user)


def users_of_grpc() -> list[Leavable]:
    """What was made in this process, uses gRPC, and is still there."""
    return list(_here.used)


def keep_for_ever(thing: object) -> None:
    """Keeps something even at the end of the interpreter: there is no other way to have its channels not closed."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _is_of_a_client(task: "asyncio.Task[object]") -> bool:
    module = getattr(getattr(task.get_coro(), "cr_frame", None), "f_globals", {}).get("__name__", "")
    return module.split(".")[0] in ("tenure", "grpc")
