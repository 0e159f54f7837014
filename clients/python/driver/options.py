"""Options of the client, from a request's fields. What is absent is left to the client."""

from typing import Any

SECURITY = ("ca_cert", "client_cert", "client_key", "tls_server_name", "token", "token_file")
SESSION_TIMES = {"ttl": "ttl_ms", "disconnect_grace": "disconnect_grace_ms"}


def given(request: dict[str, Any], **fields: str) -> dict[str, Any]:
    """Options that are durations, by the names of their fields."""
    return {option: request[field] / 1000 for option, field in fields.items() if request.get(field) is not None}


def plain(request: dict[str, Any], *fields: str) -> dict[str, Any]:
    """Options that are as their fields."""
    return {field: request[field] for field in fields if request.get(field) is not None}


def own_session(request: dict[str, Any]) -> dict[str, Any]:
    """Of a session that is opened for one request."""
    options = plain(request, "owner") | given(request, **SESSION_TIMES)
    return options | ({"id": request["session_id"]} if "session_id" in request else {})
