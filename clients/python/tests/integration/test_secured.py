"""TLS, certificates and tokens: who is served, who is told what, and files that change."""

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


class Office:
    """A server that speaks TLS, and takes certificates of its authority and the tokens of a file."""

    def __init__(self, folder: Path) -> None:
        self.tokens = folder / "tokens"
        self.authority = Authority(folder / "office")
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
def office(tmp_path: Path) -> Iterator[Office]:
    office = Office(tmp_path)
    with serving(office.server):
        yield office


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """A server that runs."""
    server.start()
    try:
        yield server
    finally:
        server.kill()


async def use(client: Client) -> None:
    """Takes a lock and gives it back; asks for it by a plain call, too."""
    async with client.lock("job"):
        assert len((await client.get_lock("job")).holders) == 1


async def problem_of(**options: Any) -> str:
    """Why no server can be reached."""
    async with Client(**{**options, "call_timeout": 0.5}) as client:
        with pytest.raises(UnavailableError) as unavailable:
            await use(client)
    return unavailable.value.problem


async def rule_of(**options: Any) -> str:
    """By which rule all that is asked is refused: long before a call's time is over."""
    begun = time.monotonic()
    async with Client(**options) as client:
        told = [await refusal_of(call()) for call in (client.session, lambda: client.get_lock("job"), client.session)]
    assert time.monotonic() - begun < PATIENCE / 2
    assert len(set(told)) == 1
    return told[0]


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


async def test_a_certificate_says_who_it_is(office: Office) -> None:
    for name in ("URI:spiffe://office/worker", "DNS:worker.office"):
        async with Client(**office.certified("worker", name)) as client:
            await use(client)
    assert await rule_of(**office.trusted) == "credentials-required"
    nameless = office.certified("nameless", "IP:10.0.0.1")
    assert await rule_of(**nameless) == "certificate-name"


async def test_a_token_says_who_it_is(office: Office) -> None:
    async with Client(**office.trusted, token=office.token) as client:
        await use(client)
    assert await rule_of(**office.trusted, token="unknown") == "known-token"
    both = office.certified("worker", "DNS:worker.office")
    assert await rule_of(**both, token="unknown") == "known-token"


def test_threads_say_who_they_are(office: Office) -> None:
    with tenure.Client(**office.trusted, token=office.token) as threads, threads.lock("job"):
        assert len(threads.get_lock("job").holders) == 1
    with tenure.Client(**office.trusted) as threads, pytest.raises(RefusedError, match="credentials are required"):
        threads.lock("job").acquire()


async def test_a_token_may_go_to_this_machine_in_the_clear(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.touch()
    with serving(Server(tmp_path, "--tokens-file", tokens)) as server:
        assert await rule_of(endpoints=server.endpoint, token="unknown") == "known-token"


async def test_servers_are_trusted_for_their_certificates(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token: dict[str, Any] = {"token": office.token}
    async with Client(**office.trusted, **token, tls_server_name="localhost") as client:
        await use(client)
    assert "Hostname Verification" in await problem_of(**office.trusted, **token, tls_server_name="elsewhere")
    assert "CERTIFICATE_VERIFY_FAILED" in await problem_of(endpoints=office.endpoint, **token)
    monkeypatch.setenv("SSL_CERT_FILE", str(office.authority.ca))
    async with Client(office.endpoint, **token, call_timeout=PATIENCE) as client:
        await use(client)
    stranger = Authority(tmp_path / "stranger")
    cert, key = stranger.certify("worker", "DNS:worker.office")
    await problem_of(**office.trusted, client_cert=cert, client_key=key)


async def test_files_may_be_replaced_while_a_client_uses_them(office: Office, tmp_path: Path) -> None:
    ca, mine = tmp_path / "ca", tmp_path / "mine"
    ca.write_bytes(Authority(tmp_path / "stranger").ca.read_bytes())
    mine.write_text(f"{office.token}\n")
    async with Client(**{**office.trusted, "ca_cert": ca}, token_file=mine) as client:
        trusting = until_done(lambda: use(client))
        ca.write_bytes(office.authority.ca.read_bytes())
        await trusting
        second = office.hand_out()
        async with Client(**office.trusted, token=second) as other:
            await until_done(lambda: use(other))
        assert await refusal_of(client.get_lock("job")) == "known-token"
        mine.write_text(second)
        await until_done(lambda: client.get_lock("job"))


async def test_a_token_that_cannot_be_read_is_waited_for(office: Office, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text(office.token)
    async with Client(**office.trusted, token_file=mine) as client:
        await use(client)
        mine.write_text("")
        reading = asyncio.ensure_future(client.get_lock("job"))
        _, waiting = await asyncio.wait({reading}, timeout=0.1)
        assert waiting
        mine.write_text(office.token)
        await soon(reading)


async def test_a_refusal_is_told_when_no_other_server_takes_the_stream(office: Office) -> None:
    with socket.socket() as free:
        # Bound and not listening: connections are refused.
        free.bind(("127.0.0.1", 0))
        away = f"https://127.0.0.1:{free.getsockname()[1]}"
        endpoints = [away, office.endpoint, away]
        assert await rule_of(**{**office.trusted, "endpoints": endpoints}) == "credentials-required"


async def test_a_server_that_refuses_is_passed_over(office: Office, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    with serving(Server(folder)) as other:
        async with Client(other.endpoint) as client:
            await until_done(lambda: use(client))
        # Whichever of the two is drawn first.
        for _ in range(5):
            async with Client([office.endpoint, other.endpoint], ca_cert=office.authority.ca) as client:
                await use(client)


async def test_an_open_session_goes_on_trying(office: Office) -> None:
    async with Client(**office.trusted, token=office.token) as client:
        session = await client.session(ttl=30)
        guard = await session.lock("job").acquire()
        known = office.tokens.read_text()
        office.server.kill()
        office.tokens.write_text("")
        office.server.start()
        assert await refusal_of(client.session()) == "known-token"
        assert await refusal_of(client.get_lock("job")) == "known-token"
        assert session.state == SessionState.HEALTHY
        office.tokens.write_text(known)
        await until_done(lambda: client.get_lock("job"))
        assert guard.is_valid()
        await soon(guard.release())
