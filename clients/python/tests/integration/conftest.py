"""What the tests share: a server each, and a client."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tenure.aio import Client
from tests.integration.server import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest_asyncio.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    async with Client(server.endpoint, call_timeout=10) as client:
        yield client
