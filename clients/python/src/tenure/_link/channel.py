"""Channels: one connection to one server, secured as is wanted, for its stream and for plain calls."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc
import grpc.aio

from tenure.endpoint import Endpoint
from tenure.errors import InvalidError, UnavailableError
from tenure.security import Security

A = TypeVar("A")
Q = TypeVar("Q")

#: The largest answer that is taken: a page of 1000 locks with 100 waiters each.
LARGEST_ANSWER = 64 << 20

OPTIONS: tuple[tuple[str, int | str], ...] = (
    # An idle connection is probed, so that one that died in silence is noticed even without a session.
    ("grpc.keepalive_time_ms", 5_000),
    ("grpc.keepalive_timeout_ms", 3_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_receive_message_length", LARGEST_ANSWER),
    # Each try is a connection of its own, which shares neither fate nor pauses with those before.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
    # Locks do not go by way of a web proxy.
    ("grpc.enable_http_proxy", 0),
)


async def open_channel(endpoint: Endpoint, security: Security) -> grpc.aio.Channel:
    """A channel to a server, which connects when it is used. UnavailableError if a file cannot be read any more."""
    signing = [Signing(security)] if security.has_token else None
    if not endpoint.is_encrypted:
        return grpc.aio.insecure_channel(endpoint.target, options=OPTIONS, interceptors=signing)
    try:
        # Whom the system trusts takes its time to read, and the event loop has sessions to renew.
        certificates = await asyncio.to_thread(security.certificates)
    except InvalidError as error:
        raise UnavailableError(str(error)) from None
    credentials = grpc.ssl_channel_credentials(certificates.root, certificates.key, certificates.chain)
    name = security.tls_server_name
    options = OPTIONS if name is None else (*OPTIONS, ("grpc.ssl_target_name_override", name))
    return grpc.aio.secure_channel(endpoint.target, credentials, options=options, interceptors=signing)


def signature(security: Security) -> grpc.aio.Metadata:
    """What tells a server who calls. UnavailableError if the token cannot be read any more."""
    try:
        authorization = security.authorization()
    except InvalidError as error:
        raise UnavailableError(str(error)) from None
    return grpc.aio.Metadata(*([] if authorization is None else [("authorization", authorization)]))


class Signing(grpc.aio.UnaryUnaryClientInterceptor):
    """Says with each plain call who makes it."""

    def __init__(self, security: Security) -> None:
        self._security = security

    async def intercept_unary_unary(
        self,
        continuation: Callable[[grpc.aio.ClientCallDetails, Q], Awaitable[grpc.aio.UnaryUnaryCall[Q, A]]],
        details: grpc.aio.ClientCallDetails,
        request: Q,
    ) -> grpc.aio.UnaryUnaryCall[Q, A]:
        signed = grpc.aio.ClientCallDetails(
            details.method, details.timeout, signature(self._security), details.credentials, details.wait_for_ready
        )
        return await continuation(signed, request)
