"""How connections are made: one channel to one server, for its stream and for plain calls."""

import asyncio

import grpc
import grpc.aio

from tenure.error import InvalidError, UnavailableError
from tenure.options.endpoint import Endpoint
from tenure.options.security import Security

OPTIONS: tuple[tuple[str, int | str], ...] = (
    # An idle connection is probed, so that a broken one is detected even without a session.
    ("grpc.keepalive_time_ms", 5_000),
    ("grpc.keepalive_timeout_ms", 3_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # The largest answer: a page of 1000 locks with 100 waiters each.
    ("grpc.max_receive_message_length", 64 << 20),
    # Each attempt is a connection of its own, which shares neither state nor pauses with those before.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
    # Locks do not go through a web proxy.
    ("grpc.enable_http_proxy", 0),
)


async def connect(endpoint: Endpoint, security: Security) -> grpc.aio.Channel:
    """A channel to a server, which connects when it is used. UnavailableError if a file cannot be read any more."""
    if not endpoint.is_encrypted:
        return grpc.aio.insecure_channel(endpoint.target, options=OPTIONS)
    try:
        # The system's CAs take a while to read, and the event loop has sessions to renew.
        certificates = await asyncio.to_thread(security.certificates)
    except InvalidError as error:
        raise UnavailableError(str(error)) from None
    name = security.tls_server_name
    options = OPTIONS if name is None else (*OPTIONS, ("grpc.ssl_target_name_override", name))
    return grpc.aio.secure_channel(endpoint.target, grpc.ssl_channel_credentials(*certificates), options=options)
