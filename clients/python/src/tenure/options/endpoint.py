"""The addresses of servers."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from tenure.error import InvalidError

#: The port of an endpoint that names none.
DEFAULT_PORT = 7420


@dataclass(frozen=True)
class Endpoint:
    """The address of a server, and whether to use TLS."""

    host: str
    port: int
    is_encrypted: bool = False

    @property
    def target(self) -> str:
        """HOST:PORT."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_this_machine(self) -> bool:
        """Whether connections to it stay on this machine."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"{'https' if self.is_encrypted else 'http'}://{self.target}"


def parse_endpoints(endpoints: str | Iterable[str]) -> list[Endpoint]:
    """Endpoints as callers give them: a text has them separated by commas."""
    texts = endpoints.split(",") if isinstance(endpoints, str) else endpoints
    found = [_parse(text.strip()) for text in texts if text.strip()]
    if not found:
        raise InvalidError("endpoints", "there are none")
    return found


def _parse(endpoint: str) -> Endpoint:
    try:
        url = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
        port = DEFAULT_PORT if url.port is None else url.port
    except ValueError as error:
        raise InvalidError("endpoints", f'"{endpoint}": {error}') from None
    if url.scheme not in ("http", "https") or not url.hostname or " " in url.netloc:
        raise InvalidError("endpoints", f'"{endpoint}" is not http://HOST:PORT or https://HOST:PORT')
    if port == 0:
        raise InvalidError("endpoints", f'"{endpoint}": the port must be 1 to 65535')
    return Endpoint(url.hostname, port, url.scheme == "https")
