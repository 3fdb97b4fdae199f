"""A server that speaks MongoDB's protocol, for tests: the one in TEST_MONGODB_URI, else one of our own."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from uuid import uuid4

import pytest
from pymongo import MongoClient
from pymongo.errors import PyMongoError

START_SECONDS = 120.0
"""One that dies is seen at once; three that start at a time on a busy machine take long."""


@pytest.fixture(scope="session")
def mongodb_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an empty database that belongs to this test session.

    It is dropped afterwards, and with it all whose names begin with its name.
    """
    name = f"thoughtcycle_test_{uuid4().hex[:12]}"
    if given := os.environ.get("TEST_MONGODB_URI"):
        with MongoClient(given) as client:
            yield with_database(given, name)
            for made in client.list_database_names():
                if made.startswith(name):
                    client.drop_database(made)
    else:
        with mongodb_server(tmp_path_factory.mktemp("mongodb"), lasting=False) as url:
            yield with_database(url, name)


@contextmanager
def mongodb_server(folder: Path, port: int | None = None, *, lasting: bool = True) -> Iterator[str]:
    """Runs a server of our own, with its files in `folder`; stopped and reaped on leaving.

    Its data outlast it where they are `lasting`: one that is never started again is quicker without a disk.
    """
    port = port or _free_port()
    command = [sys.executable, "-m", "nx_27017.nx_27017", "--host", "127.0.0.1", "--port", str(port)]
    for option, name in (("--pid-file", "pid"), ("--log-file", "log")):
        command += [option, str(folder / name)]
    command += ["--data-dir", str(folder / "data") if lasting else "memory"]
    (folder / "data").mkdir(exist_ok=True)
    with (folder / "output").open("ab") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        url = f"mongodb://127.0.0.1:{port}"
        _wait_until_ready(url, server, folder / "output")
        yield url
    finally:
        server.kill()
        server.wait()


def with_database(url: str, name: str) -> str:
    """`url` naming the database `name`."""
    address, _, options = url.partition("?")
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/{name}" + (f"?{options}" if options else "")


def _wait_until_ready(url: str, server: subprocess.Popen[bytes], output: Path) -> None:
    until = monotonic() + START_SECONDS
    with MongoClient(url, serverSelectionTimeoutMS=500) as client:
        while True:
            try:
                client.admin.command("ping")
                return
            except PyMongoError as error:
                if server.poll() is not None or monotonic() > until:
                    raise RuntimeError(f"no MongoDB server: {output.read_text()[-2000:]}") from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
