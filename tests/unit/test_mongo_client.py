"""How the MongoDB client is set up: nothing here speaks to a server."""

import pytest
from pymongo import ReadPreference, WriteConcern

from thoughtcycle.memory.storage import mongo_time_outs
from thoughtcycle.memory.storage.mongo.client import connect, database_of


@pytest.mark.parametrize(
    ("url", "name", "concern"),
    [
        ("mongodb://host", "thoughtcycle", WriteConcern("majority", j=True)),
        ("mongodb://host/mine", "mine", WriteConcern("majority", j=True)),
        ("mongodb://host/mine?journal=false", "mine", WriteConcern(j=False)),
        ("mongodb://host/mine?w=0&readPreference=secondary", "mine", WriteConcern("majority", j=True)),
    ],
)
async def test_the_url_decides_database_and_durability(url: str, name: str, concern: WriteConcern) -> None:
    async with connect(url) as client:
        database = database_of(client)
        assert (database.name, database.write_concern) == (name, concern)
        assert database.read_preference == ReadPreference.PRIMARY


def test_the_url_s_own_time_outs_go_first() -> None:
    assert mongo_time_outs("mongodb://host").keys() == {"serverSelectionTimeoutMS", "socketTimeoutMS"}
    assert mongo_time_outs("mongodb://host/?serverselectiontimeoutms=1").keys() == {"socketTimeoutMS"}
