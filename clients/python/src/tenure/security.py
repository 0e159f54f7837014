"""How connections are secured, and how this client proves who it is."""

import os
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from typing_extensions import TypedDict

from tenure.endpoint import Endpoint
from tenure.errors import InvalidError

#: Where a file is.
FilePath = str | os.PathLike[str]


class SecurityOptions(TypedDict, total=False):
    """Of TLS and credentials. `None` is as if it were left out. Files may be replaced while the client runs."""

    #: Who signs the certificates of servers at `https://`: a PEM file, read for each connection. Needs an `https://` endpoint.
    #: Default: those whom the system trusts.
    ca_cert: FilePath | None
    #: This client's certificate, and those that sign it: a PEM file, read for each connection. Needs `client_key` and an `https://`
    #: endpoint. Default: none.
    client_cert: FilePath | None
    #: The private key of `client_cert`: a PEM file, read with it. Default: none.
    client_key: FilePath | None
    #: The name that the servers' certificates must have. Default: the endpoint's host.
    tls_server_name: str | None
    #: What says who this is. Not empty, and not together with `token_file`; refused with endpoints at `http://`, except on this
    #: machine. Never logged. Default: none.
    token: str | None
    #: The file where that token stands, read for each stream and each call; blanks around it do not count. Default: none.
    token_file: FilePath | None


class Certificates(NamedTuple):
    """What a connection over TLS goes by, all of it PEM."""

    #: Who signs the server's certificate. None: those whom gRPC knows.
    root: bytes | None
    #: This client's private key.
    key: bytes | None
    #: Its certificate, and those that sign it.
    chain: bytes | None


@dataclass(frozen=True)
class Security:
    """TLS and credentials: what is said in `SecurityOptions`."""

    ca_cert: FilePath | None = None
    client_cert: FilePath | None = None
    client_key: FilePath | None = None
    tls_server_name: str | None = None
    token: str | None = field(default=None, repr=False)
    token_file: FilePath | None = None

    def check(self, endpoints: Sequence[Endpoint]) -> None:
        """Checks what can be checked before there is a connection. InvalidError tells which option cannot be used, and why."""
        self._check_combination()
        self._check_token(endpoints)
        self._check_certificates(endpoints)

    @property
    def has_token(self) -> bool:
        """Whether calls are to say who makes them."""
        return self.token is not None or self.token_file is not None

    def certificates(self) -> Certificates:
        """What the files say now. InvalidError if one cannot be read."""
        root = _trusted_by_the_system() if self.ca_cert is None else _read("ca_cert", self.ca_cert)
        chain = None if self.client_cert is None else _read("client_cert", self.client_cert)
        key = None if self.client_key is None else _read("client_key", self.client_key)
        return Certificates(root, key, chain)

    def authorization(self) -> str | None:
        """What the header of that name says now, if there is a token. InvalidError if it cannot be read or used."""
        if self.token_file is not None:
            return _bearer("token_file", _read("token_file", self.token_file).decode(errors="replace"))
        return None if self.token is None else _bearer("token", self.token)

    def _check_combination(self) -> None:
        if self.client_cert is not None and self.client_key is None:
            raise InvalidError("client_cert", "is set, but client_key is not")
        if self.client_key is not None and self.client_cert is None:
            raise InvalidError("client_key", "is set, but client_cert is not")
        if self.token is not None and self.token_file is not None:
            raise InvalidError("token", "is set, and token_file is set as well: set one of them")

    def _check_token(self, endpoints: Sequence[Endpoint]) -> None:
        option = "token" if self.token is not None else "token_file"
        for endpoint in endpoints:
            if self.has_token and not endpoint.is_encrypted and not endpoint.is_this_machine:
                raise InvalidError(option, f"would go to {endpoint} in the clear: use https://")
        self.authorization()

    def _check_certificates(self, endpoints: Sequence[Endpoint]) -> None:
        files = {"ca_cert": self.ca_cert, "client_cert": self.client_cert, "client_key": self.client_key}
        for option, file in files.items():
            if file is None:
                continue
            _read(option, file)
            if not any(endpoint.is_encrypted for endpoint in endpoints):
                raise InvalidError(option, "is set, but no endpoint is https://")


def _read(option: str, file: FilePath) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InvalidError(option, f"{file}: {error.strerror}") from None


def _bearer(option: str, text: str) -> str:
    token = text.strip()
    if not token:
        raise InvalidError(option, "the token is empty")
    if not token.isascii() or not token.isprintable():
        raise InvalidError(option, "the token has letters that no header may have")
    return f"Bearer {token}"


def _trusted_by_the_system() -> bytes | None:
    """None if the system does not tell."""
    known = ssl.create_default_context().get_ca_certs(binary_form=True)
    return "".join(map(ssl.DER_cert_to_PEM_cert, known)).encode() or None
