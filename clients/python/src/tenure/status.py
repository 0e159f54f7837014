"""Refusals of plain calls, as they come in a call's status."""

import grpc
import grpc.aio
from google.rpc import error_details_pb2, status_pb2

from tenure.errors import Refusal, RefusedError, TenureError, UnavailableError

DOMAIN = "tenure"
DETAILS_KEY = "grpc-status-details-bin"
#: A time-out of this library surfaces as cancelled, a broken transport as unavailable or unknown.
NO_ANSWER = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
)


def error_of(failure: grpc.aio.AioRpcError) -> TenureError:
    """What a call that failed raises."""
    message = failure.details() or ""
    # That a deadline passed is no refusal, also where it is the server that says so.
    if failure.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return UnavailableError(message or failure.code().name)
    for key, value in failure.trailing_metadata() or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            refusal = refusal_in(status_pb2.Status.FromString(value), message)
            if refusal is not None:
                return RefusedError(refusal)
    code = failure.code()
    if code in NO_ANSWER:
        return UnavailableError(message or code.name)
    return RefusedError(Refusal(code.name, message))


def refusal_in(status: status_pb2.Status, message: str) -> Refusal | None:
    """What is said in the contract's way, if it is."""
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        if detail.Is(info.DESCRIPTOR) and detail.Unpack(info) and info.domain == DOMAIN:
            return Refusal(info.reason, message, dict(info.metadata))
    return None
