"""How to reach the service."""

import os

from tenure.security import SecurityOptions

#: Where a server listens that was started without arguments.
DEFAULT_ENDPOINT = "http://127.0.0.1:7420"
DEFAULT_NAMESPACE = "default"
DEFAULT_CONNECT_TIMEOUT = 0.5
DEFAULT_CALL_TIMEOUT = 5.0
DEFAULT_TTL = 10.0


def from_environment() -> tuple[str, str, SecurityOptions]:
    """Endpoints, namespace, and TLS and credentials, as `TENURE_ENDPOINTS`, `TENURE_NAMESPACE`, `TENURE_CA_CERT`,
    `TENURE_CLIENT_CERT`, `TENURE_CLIENT_KEY`, `TENURE_TLS_SERVER_NAME`, `TENURE_TOKEN` and `TENURE_TOKEN_FILE` say where they are
    set and not empty."""

    def told(name: str) -> str | None:
        return os.environ.get(f"TENURE_{name}") or None

    endpoints = os.environ.get("TENURE_ENDPOINTS", "").strip()
    security = SecurityOptions(
        ca_cert=told("CA_CERT"),
        client_cert=told("CLIENT_CERT"),
        client_key=told("CLIENT_KEY"),
        tls_server_name=told("TLS_SERVER_NAME"),
        token=told("TOKEN"),
        token_file=told("TOKEN_FILE"),
    )
    return endpoints or DEFAULT_ENDPOINT, told("NAMESPACE") or DEFAULT_NAMESPACE, security
