"""How connections are secured, and how this client authenticates."""

import os
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import TypedDict

from tenure.error import InvalidError
from tenure.options.endpoint import Endpoint

#: The path of a file.
FilePath = str | os.PathLike[str]


class SecurityOptions(TypedDict, total=False):
    """The options of TLS and credentials. `None` is as if it were left out. Files may be replaced while the client
    runs."""

    #: The CA of the servers' certificates at `https://`: a PEM file, read for each connection. Needs an `https://`
    #: endpoint. Default: the CAs that the system trusts.
    ca_cert: FilePath | None
    #: This client's certificate, and those that sign it: a PEM file, read for each connection. Needs `client_key` and
    #: an `https://` endpoint. Default: none.
    client_cert: FilePath | None
    #: The private key of `client_cert`: a PEM file, read with it. Default: none.
    client_key: FilePath | None
    #: The name that the servers' certificates must have. Default: the endpoint's host.
    tls_server_name: str | None
    #: The token of this client: printable ASCII, not empty, and not together with `token_file`. Rejected with endpoints
    #: at `http://`, except on this machine. Never logged. Default: none.
    token: str | None
    #: The file of that token, read for each stream and each call; blanks around the token are ignored. Default: none.
    token_file: FilePath | None


@dataclass(frozen=True)
class Security:
    """The settings of TLS and credentials: see `SecurityOptions`."""

    ca_cert: FilePath | None = None
    client_cert: FilePath | None = None
    client_key: FilePath | None = None
    tls_server_name: str | None = None
    token: str | None = field(default=None, repr=False)
    token_file: FilePath | None = None

    def check(self, endpoints: Sequence[Endpoint]) -> None:
        """Checks the settings before there is a connection. InvalidError names the option that is invalid."""
        for option, other in (("client_cert", "client_key"), ("client_key", "client_cert")):
            if getattr(self, option) is not None and getattr(self, other) is None:
                raise InvalidError(option, f"is set, but {other} is not")
        if self.token is not None and self.token_file is not None:
            raise InvalidError("token", "is set, and token_file is set as well: set one of them")
        if self.authorization() is not None:
            option = "token" if self.token is not None else "token_file"
            for endpoint in endpoints:
                if not endpoint.is_encrypted and not endpoint.is_this_machine:
                    raise InvalidError(option, f"would go to {endpoint} in the clear: use https://")
        for option in ("ca_cert", "client_cert", "client_key"):
            has_file = _read(option, getattr(self, option)) is not None
            if has_file and not any(endpoint.is_encrypted for endpoint in endpoints):
                raise InvalidError(option, "is set, but no endpoint is https://")

    def certificates(self) -> tuple[bytes | None, bytes | None, bytes | None]:
        """The CAs of servers, this client's key and its certificates, all PEM, as the files have them now. InvalidError
        if one cannot be read."""
        ca = _trusted_by_the_system() if self.ca_cert is None else _read("ca_cert", self.ca_cert)
        return ca, _read("client_key", self.client_key), _read("client_cert", self.client_cert)

    def authorization(self) -> str | None:
        """The header of that name, if there is a token. InvalidError if the token cannot be read or used."""
        option, text = "token", self.token
        if self.token_file is not None:
            option, text = "token_file", (_read("token_file", self.token_file) or b"").decode(errors="replace")
        if text is None:
            return None
        token = text.strip()
        if not token:
            raise InvalidError(option, "the token is empty")
        if not token.isascii() or not token.isprintable():
            raise InvalidError(option, "the token has letters that no header may have: only printable ASCII")
        return f"Bearer {token}"


def _read(option: str, file: FilePath | None) -> bytes | None:
    try:
        return None if file is None else Path(file).read_bytes()
    except OSError as error:
        raise InvalidError(option, f"{file}: {error.strerror}") from None


def _trusted_by_the_system() -> bytes | None:
    """None if the system does not list them."""
    known = ssl.create_default_context().get_ca_certs(binary_form=True)
    return "".join(map(ssl.DER_cert_to_PEM_cert, known)).encode() or None
