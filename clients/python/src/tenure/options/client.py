"""How to reach the service."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tenure import clock
from tenure.clock import Seconds
from tenure.error import InvalidError
from tenure.options.endpoint import Endpoint, parse_endpoints
from tenure.options.security import Security, SecurityOptions

#: The address of a server that was started without arguments.
DEFAULT_ENDPOINT = "http://127.0.0.1:7420"


class ClientOptions(SecurityOptions, total=False):
    """The options of a client, besides its endpoints."""

    #: The namespace of everything that the client does: 1 to 63 of a-z, 0-9 and '-'. Default: "default".
    namespace: str
    #: How long connecting to one server may take. After a quarter of this, the next server is tried in parallel. More
    #: than 0; default: 0.5 s.
    connect_timeout: Seconds
    #: How long a call may take, including retries at other servers. A call that waits for a lock may take this longer
    #: than its wait. More than 0; default: 5 s.
    call_timeout: Seconds


@dataclass(frozen=True)
class Destination:
    """Where a client connects to, and how."""

    endpoints: list[Endpoint]
    security: Security
    namespace: str
    connect_timeout: float
    call_timeout: float

    @classmethod
    def of(
        cls,
        endpoints: str | Iterable[str],
        namespace: str = "default",
        connect_timeout: Seconds = 0.5,
        call_timeout: Seconds = 5.0,
        **security: Any,
    ) -> Destination:
        """Checks the options. InvalidError names the one that is invalid."""
        if not re.fullmatch("[a-z0-9-]{0,63}", namespace):
            raise InvalidError("namespace", "it is not 1 to 63 of a-z, 0-9 and '-'")
        timeouts = {"connect_timeout": connect_timeout, "call_timeout": call_timeout}
        checked = {option: clock.seconds(timeout, option) for option, timeout in timeouts.items()}
        for option, timeout in checked.items():
            if timeout <= 0:
                raise InvalidError(option, "it must be more than zero")
        servers = parse_endpoints(endpoints)
        secured = Security(**security)
        secured.check(servers)
        return cls(servers, secured, namespace, **checked)


def from_environment() -> tuple[str, ClientOptions]:
    """Endpoints and options of the variables `TENURE_...` that are set and not empty."""
    options = ("namespace", "ca_cert", "client_cert", "client_key", "tls_server_name", "token", "token_file")
    found: Any = {option: text for option in options if (text := os.environ.get(f"TENURE_{option.upper()}"))}
    return os.environ.get("TENURE_ENDPOINTS", "").strip() or DEFAULT_ENDPOINT, found
