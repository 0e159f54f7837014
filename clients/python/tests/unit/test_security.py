"""TLS and credentials: what is rejected before there is a connection."""

from pathlib import Path
from typing import Any

import pytest

from tenure.aio import Client
from tenure.error import InvalidError
from tenure.options.client import from_environment
from tenure.options.endpoint import parse_endpoints
from tenure.options.security import Security

FAR = "https://far:1"


def refusal(endpoints: str, options: dict[str, Any]) -> InvalidError:
    with pytest.raises(InvalidError) as refused:
        Security(**options).check(parse_endpoints(endpoints))
    return refused.value


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "file"
    file.write_text("something")
    return file


@pytest.mark.parametrize(
    ("options", "field", "problem"),
    [
        ({"client_cert": "a"}, "client_cert", "is set, but client_key is not"),
        ({"client_key": "a"}, "client_key", "is set, but client_cert is not"),
        ({"token": "a", "token_file": "a"}, "token", "set one of them"),
        ({"ca_cert": "/no-such-file"}, "ca_cert", "/no-such-file: No such file"),
        ({"client_cert": "/no-such-file", "client_key": "a"}, "client_cert", "/no-such-file: No such file"),
        ({"token_file": "/no-such-file"}, "token_file", "/no-such-file: No such file"),
        ({"token_file": "/dev/null"}, "token_file", "the token is empty"),
        ({"token": ""}, "token", "the token is empty"),
        ({"token": " \n"}, "token", "the token is empty"),
        ({"token": "a\nb"}, "token", "letters that no header"),
        ({"token": "Schlüssel"}, "token", "letters that no header"),
    ],
)
def test_inconsistent_options_are_rejected_by_name(options: dict[str, Any], field: str, problem: str) -> None:
    refused = refusal(FAR, options)
    assert refused.field == field
    assert problem in refused.problem


@pytest.mark.parametrize("given", [("ca_cert",), ("client_cert", "client_key")])
def test_certificates_need_tls(given: tuple[str, ...], file: Path) -> None:
    options: dict[str, Any] = dict.fromkeys(given, file)
    refused = refusal("http://localhost:1", options)
    assert refused.field == given[0]
    assert refused.problem == "is set, but no endpoint is https://"
    Security(**options).check(parse_endpoints(f"http://localhost:1,{FAR}"))


def test_token_is_not_sent_in_the_clear(file: Path) -> None:
    for options in ({"token": "secret"}, {"token_file": file}):
        security = Security(**options)
        security.check(parse_endpoints("localhost:1,http://127.0.0.2:1,http://[::1]:1,https://far:1"))
        for endpoint in ("far:1", "http://10.0.0.1:1", "http://localhost.far:1"):
            refused = refusal(f"https://far:1,{endpoint}", dict(options))
            assert refused.field == next(iter(options))
            assert "in the clear: use https://" in refused.problem


def test_token_is_not_shown() -> None:
    assert "secret" not in repr(Security(token="secret"))
    assert "secret" not in str(refusal(FAR, {"token": "secret\nthing"}))
    assert "secret" not in str(refusal("http://far:1", {"token": "secret"}))


def test_token_is_read_again_and_blanks_are_ignored(file: Path) -> None:
    security = Security(token_file=file)
    assert security.authorization() == "Bearer something"
    file.write_text(" other\n")
    assert security.authorization() == "Bearer other"
    assert Security(token=" mine ").authorization() == "Bearer mine"
    assert Security().authorization() is None


async def test_client_with_invalid_options_is_not_made() -> None:
    with pytest.raises(InvalidError, match="token"):
        Client("http://far:1", token="secret")


def test_options_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {
        "TENURE_ENDPOINTS": FAR,
        "TENURE_NAMESPACE": "mine",
        "TENURE_CA_CERT": "ca.pem",
        "TENURE_CLIENT_CERT": "client.pem",
        "TENURE_CLIENT_KEY": "client.key",
        "TENURE_TLS_SERVER_NAME": "near",
        "TENURE_TOKEN": "",
        "TENURE_TOKEN_FILE": "token",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    options: dict[str, str] = {
        "namespace": "mine",
        "ca_cert": "ca.pem",
        "client_cert": "client.pem",
        "client_key": "client.key",
        "tls_server_name": "near",
        "token_file": "token",
    }
    assert from_environment() == (FAR, options)
    monkeypatch.setenv("TENURE_TOKEN", "secret")
    monkeypatch.delenv("TENURE_TOKEN_FILE")
    del options["token_file"]
    assert from_environment() == (FAR, {**options, "token": "secret"})
