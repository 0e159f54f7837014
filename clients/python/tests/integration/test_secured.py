"""TLS, certificates and tokens: who is served, which errors the others get, and files that change."""

import asyncio
import os
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure import RefusedError, SessionState, TenureError, UnavailableError
from tenure.aio import Client
from tests.integration.authority import Authority
from tests.integration.server import PATIENCE, Server
from tests.integration.waiting import soon


class SecuredServer:
    """A server that speaks TLS, and takes certificates of its authority and the tokens of a file."""

    def __init__(self, folder: Path) -> None:
        self.tokens = folder / "tokens"
        self.authority = Authority(folder / "authority")
        cert, key = self.authority.certify("server", "DNS:localhost", "IP:127.0.0.1")
        self.token = self.hand_out()
        tls = ("--tls-cert", cert, "--tls-key", key, "--tls-client-ca", self.authority.ca)
        self.server = Server(folder, *tls, "--tokens-file", self.tokens)

    @property
    def endpoint(self) -> str:
        return f"https://127.0.0.1:{self.server.port}"

    @property
    def trusted(self) -> dict[str, Any]:
        """Options of a client that knows the authority."""
        return {"endpoints": self.endpoint, "ca_cert": self.authority.ca, "call_timeout": PATIENCE}

    def certified(self, file: str, *names: str) -> dict[str, Any]:
        """Those of one that has a certificate, too."""
        cert, key = self.authority.certify(file, *names)
        return {**self.trusted, "client_cert": cert, "client_key": key}

    def hand_out(self) -> str:
        """A new token. It alone is taken from now on, once the server has looked."""
        program = os.environ.get("TENURED", "tenured")
        made = subprocess.run([program, "new-token", "worker"], check=True, capture_output=True, text=True).stdout
        token, line = (line.strip() for line in made.splitlines() if line.startswith("  "))
        self.tokens.write_text(f"{line}\n")
        return token


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[SecuredServer]:
    secured = SecuredServer(tmp_path)
    with serving(secured.server):
        yield secured


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """A server that runs."""
    server.start()
    try:
        yield server
    finally:
        server.kill()


async def use(client: Client) -> None:
    """Acquires a lock, reads it by a plain call, and releases it."""
    async with client.lock("job"):
        assert len((await client.get_lock("job")).holders) == 1


async def is_unavailable(reason: str, **options: Any) -> None:
    """No server can be reached, and the error has the reason, once a connection was tried."""
    async with Client(**{**options, "call_timeout": 0.5}) as client:

        async def fail() -> None:
            problem = ""
            while reason not in problem:
                with pytest.raises(UnavailableError) as unavailable:
                    await use(client)
                problem = unavailable.value.problem

        await soon(fail())


async def rule_of(**options: Any) -> str:
    """The rule by which all requests are rejected: long before the deadline of a call."""
    begun = time.monotonic()
    async with Client(**options) as client:
        rules = [await refusal_of(call()) for call in (client.session, lambda: client.get_lock("job"), client.session)]
    assert time.monotonic() - begun < PATIENCE / 2
    assert len(set(rules)) == 1
    return rules[0]


async def refusal_of(awaited: Awaitable[object]) -> str:
    with pytest.raises(RefusedError) as refused:
        await awaited
    assert refused.value.reason == "UNAUTHENTICATED"
    return refused.value.metadata["rule"]


async def until_done(attempt: Callable[[], Awaitable[object]]) -> None:
    """Tries until it succeeds."""

    async def succeed() -> None:
        while isinstance(await outcome(attempt()), TenureError):
            await asyncio.sleep(0.01)

    await soon(succeed())


async def outcome(awaited: Awaitable[object]) -> object:
    """What comes of it, or its error."""
    try:
        return await awaited
    except TenureError as error:
        return error


async def test_certificate_identifies_its_client(secured: SecuredServer) -> None:
    for name in ("URI:spiffe://example/worker", "DNS:worker.example"):
        async with Client(**secured.certified("worker", name)) as client:
            await use(client)
    assert await rule_of(**secured.trusted) == "credentials-required"
    nameless = secured.certified("nameless", "IP:10.0.0.1")
    assert await rule_of(**nameless) == "certificate-name"


async def test_token_identifies_its_client(secured: SecuredServer) -> None:
    async with Client(**secured.trusted, token=secured.token) as client:
        await use(client)
    assert await rule_of(**secured.trusted, token="unknown") == "known-token"
    both = secured.certified("worker", "DNS:worker.example")
    assert await rule_of(**both, token="unknown") == "known-token"


def test_client_for_threads_is_identified(secured: SecuredServer) -> None:
    with tenure.Client(**secured.trusted, token=secured.token) as threads, threads.lock("job"):
        assert len(threads.get_lock("job").holders) == 1
    with tenure.Client(**secured.trusted) as threads, pytest.raises(RefusedError, match="credentials are required"):
        threads.lock("job").acquire()


async def test_token_is_sent_to_this_machine_in_the_clear(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.touch()
    with serving(Server(tmp_path, "--tokens-file", tokens)) as server:
        assert await rule_of(endpoints=server.endpoint, token="unknown") == "known-token"


async def test_servers_are_trusted_for_their_certificates(
    secured: SecuredServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token: dict[str, Any] = {"token": secured.token}
    async with Client(**secured.trusted, **token, tls_server_name="localhost") as client:
        await use(client)
    await is_unavailable("Hostname Verification", **secured.trusted, **token, tls_server_name="elsewhere")
    await is_unavailable("CERTIFICATE_VERIFY_FAILED", endpoints=secured.endpoint, **token)
    monkeypatch.setenv("SSL_CERT_FILE", str(secured.authority.ca))
    async with Client(secured.endpoint, **token, call_timeout=PATIENCE) as client:
        await use(client)
    stranger = Authority(tmp_path / "stranger")
    cert, key = stranger.certify("worker", "DNS:worker.example")
    await is_unavailable("failed to connect", **secured.trusted, client_cert=cert, client_key=key)


async def test_files_may_be_replaced_while_a_client_uses_them(secured: SecuredServer, tmp_path: Path) -> None:
    ca, mine = tmp_path / "ca", tmp_path / "mine"
    ca.write_bytes(Authority(tmp_path / "stranger").ca.read_bytes())
    mine.write_text(f"{secured.token}\n")
    async with Client(**{**secured.trusted, "ca_cert": ca}, token_file=mine) as client:
        trusting = until_done(lambda: use(client))
        ca.write_bytes(secured.authority.ca.read_bytes())
        await trusting
        second = secured.hand_out()
        async with Client(**secured.trusted, token=second) as other:
            await until_done(lambda: use(other))
        assert await refusal_of(client.get_lock("job")) == "known-token"
        mine.write_text(second)
        await until_done(lambda: client.get_lock("job"))


async def test_token_that_cannot_be_read_is_read_again(secured: SecuredServer, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text(secured.token)
    async with Client(**secured.trusted, token_file=mine) as client:
        await use(client)
        mine.write_text("")
        reading = asyncio.ensure_future(client.get_lock("job"))
        _, waiting = await asyncio.wait({reading}, timeout=0.1)
        assert waiting
        mine.write_text(secured.token)
        await soon(reading)


async def test_rejection_is_raised_when_no_other_server_accepts_the_stream(secured: SecuredServer) -> None:
    with socket.socket() as free:
        # Bound and not listening: connections are refused.
        free.bind(("127.0.0.1", 0))
        away = f"https://127.0.0.1:{free.getsockname()[1]}"
        endpoints = [away, secured.endpoint, away]
        assert await rule_of(**{**secured.trusted, "endpoints": endpoints}) == "credentials-required"


async def test_server_that_rejects_the_credentials_is_skipped(secured: SecuredServer, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    with serving(Server(folder)) as other:
        async with Client(other.endpoint) as client:
            await until_done(lambda: use(client))
        # Whichever of the two is drawn first.
        for _ in range(5):
            async with Client([secured.endpoint, other.endpoint], ca_cert=secured.authority.ca) as client:
                await use(client)


async def test_open_session_outlives_rejected_credentials(secured: SecuredServer) -> None:
    async with Client(**secured.trusted, token=secured.token) as client:
        session = await client.session(ttl=30)
        guard = await session.lock("job").acquire()
        known = secured.tokens.read_text()
        secured.server.kill()
        secured.tokens.write_text("")
        secured.server.start()
        assert await refusal_of(client.session()) == "known-token"
        assert await refusal_of(client.get_lock("job")) == "known-token"
        assert session.state == SessionState.HEALTHY
        secured.tokens.write_text(known)
        await until_done(lambda: client.get_lock("job"))
        assert guard.is_valid()
        await soon(guard.release())
