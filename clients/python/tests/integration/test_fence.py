"""The fence, in real databases, by way of their usual drivers."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pymysql
import pytest
from pymysql.constants import CLIENT

from tenure import TenureError, fence


def postgres(_: Path) -> Any:
    return psycopg.connect(os.environ["TEST_POSTGRES_URL"])


def mysql(_: Path) -> Any:
    at = urlsplit(os.environ["TEST_MYSQL_URL"])
    return pymysql.connect(
        host=at.hostname,
        port=at.port or 0,
        user=at.username,
        database=at.path.lstrip("/"),
        client_flag=CLIENT.MULTI_STATEMENTS,
    )


def sqlite(folder: Path) -> Any:
    return sqlite3.connect(folder / "work.db")


LetIn = Callable[[str, int], None]


@pytest.fixture(
    params=[(fence.postgres, postgres), (fence.mysql, mysql), (fence.sqlite, sqlite)], ids=lambda it: it[1].__name__
)
def fenced(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[fence.Database, Any]]:
    """A kind of database, and a connection to one with the fence."""
    kind, connect = request.param
    with closing(connect(tmp_path)) as connection:
        kind.install(connection)
        yield kind, connection


@pytest.fixture
def let_in(fenced: tuple[fence.Database, Any]) -> LetIn:
    """Runs a transaction with a token."""
    kind, connection = fenced

    def run(name: str, token: int) -> None:
        try:
            kind.check(connection, name, token)
        except BaseException:
            connection.rollback()
            raise
        connection.commit()

    return run


@pytest.fixture
def name() -> str:
    """One of its own."""
    return f"job-{time.time_ns()}"


def test_token_lower_than_the_highest_seen_is_rejected(let_in: LetIn, name: str) -> None:
    for token in (5, 5, 7):
        let_in(name, token)
    with pytest.raises(fence.StaleTokenError) as refused:
        let_in(name, 6)
    assert (refused.value.name, refused.value.token, refused.value.highest) == (name, 6, 7)
    assert not refused.value.is_transient
    let_in(f"{name}-2", 6)


def test_fence_is_installed_again_and_keeps_its_tokens(
    fenced: tuple[fence.Database, Any], let_in: LetIn, name: str
) -> None:
    let_in(name, 7)
    kind, connection = fenced
    kind.install(connection)
    with pytest.raises(fence.StaleTokenError):
        let_in(name, 6)


@pytest.mark.parametrize(("length", "token"), [(0, 5), (256, 5), (3, 0), (3, -5)])
def test_other_errors_are_those_of_the_database_library(let_in: LetIn, length: int, token: int) -> None:
    with pytest.raises(Exception, match=r"tenure_fence: the (name|token) must|Data too long|Out of range") as refused:
        let_in("x" * length, token)
    assert not isinstance(refused.value, TenureError)
