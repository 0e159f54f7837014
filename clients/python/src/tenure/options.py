"""How to reach the service."""

import os
from collections.abc import Iterable
from urllib.parse import urlsplit

from tenure.errors import InvalidError

#: Where a server listens that was started without arguments.
DEFAULT_ENDPOINT = "http://127.0.0.1:7420"
DEFAULT_NAMESPACE = "default"
DEFAULT_CONNECT_TIMEOUT = 0.5
DEFAULT_CALL_TIMEOUT = 5.0
DEFAULT_TTL = 10.0


def targets(endpoints: str | Iterable[str]) -> list[str]:
    """HOST:PORT of each endpoint; a text has them separated by commas."""
    texts = endpoints.split(",") if isinstance(endpoints, str) else endpoints
    found = [target(text.strip()) for text in texts if text.strip()]
    if not found:
        raise InvalidError("endpoints", "there are none")
    return found


def target(endpoint: str) -> str:
    """HOST:PORT of one endpoint."""
    url = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
    if url.scheme == "https":
        raise InvalidError("endpoints", f'"{endpoint}": TLS is not supported yet')
    try:
        port = url.port or 80
    except ValueError as error:
        raise InvalidError("endpoints", f'"{endpoint}": {error}') from None
    if url.scheme != "http" or not url.hostname or " " in url.netloc:
        raise InvalidError("endpoints", f'"{endpoint}" is not http://HOST:PORT')
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    return f"{host}:{port}"


def from_environment() -> tuple[str, str]:
    """Endpoints and namespace, as `TENURE_ENDPOINTS` and `TENURE_NAMESPACE` say where they are set and not empty."""
    endpoints = os.environ.get("TENURE_ENDPOINTS", "").strip()
    return endpoints or DEFAULT_ENDPOINT, os.environ.get("TENURE_NAMESPACE") or DEFAULT_NAMESPACE
