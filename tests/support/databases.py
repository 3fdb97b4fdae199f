"""A new database for a test, of each kind that the product knows."""

import os
from pathlib import Path
from uuid import uuid4

import pytest

from support.mongo import with_database

KINDS = ("sqlite", "mongodb") if os.environ.get("TORTURE_SAMPLE") == "0" else ("sqlite",)
"""Both kinds under `make torture` only: what takes long, and is seen on MongoDB by other tests of the gate, too."""
MONGODB_IN_TORTURE = pytest.mark.parametrize("database_url", KINDS, indirect=True)


@pytest.fixture(params=["sqlite", "mongodb"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database: a file of the test's own, then a database of the MongoDB server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/memory.db"
    return new_database(request.getfixturevalue("mongodb_url"))


def new_database(mongodb_url: str) -> str:
    """The URL of an empty database on the server of `mongodb_url`, dropped together with the one that this names."""
    name = mongodb_url.partition("?")[0].rpartition("/")[2]
    return with_database(mongodb_url, f"{name}_{uuid4().hex[:12]}")
