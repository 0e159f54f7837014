"""Where servers are."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from tenure.errors import InvalidError

#: The port of a URL that names none.
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Endpoint:
    """Where a server is, and whether it speaks TLS."""

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
        """Whether what goes there stays on this machine."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"{'https' if self.is_encrypted else 'http'}://{self.target}"


def parse_endpoints(endpoints: str | Iterable[str]) -> list[Endpoint]:
    """Endpoints as callers give them; a text has them separated by commas."""
    texts = endpoints.split(",") if isinstance(endpoints, str) else endpoints
    found = [parse_endpoint(text.strip()) for text in texts if text.strip()]
    if not found:
        raise InvalidError("endpoints", "there are none")
    return found


def parse_endpoint(endpoint: str) -> Endpoint:
    """One endpoint."""
    url = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
    if url.scheme not in DEFAULT_PORTS or not url.hostname or " " in url.netloc:
        raise InvalidError("endpoints", f'"{endpoint}" is not http://HOST:PORT or https://HOST:PORT')
    try:
        port = url.port or DEFAULT_PORTS[url.scheme]
    except ValueError as error:
        raise InvalidError("endpoints", f'"{endpoint}": {error}') from None
    return Endpoint(url.hostname, port, url.scheme == "https")
