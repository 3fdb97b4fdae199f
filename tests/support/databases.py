"""A new database for a test, of each kind that the product knows."""

from pathlib import Path
from uuid import uuid4

import pytest

from support.mongo import with_database


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
