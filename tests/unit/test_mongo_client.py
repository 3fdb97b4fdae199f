"""How the MongoDB client is set up: nothing here speaks to a server."""

import pytest
from pymongo import ReadPreference, WriteConcern

from thoughtcycle.memory.storage.mongo_client import connect, database_of, time_outs
from thoughtcycle.memory.storage.mongo_documents import escaped, unescaped


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
    assert time_outs("mongodb://host").keys() == {"serverSelectionTimeoutMS", "socketTimeoutMS"}
    assert time_outs("mongodb://host/?serverselectiontimeoutms=1").keys() == {"socketTimeoutMS"}


@pytest.mark.parametrize("text", ["", "a\0b", "␀", "␀0", "\0␀1\0", "␀␀\0\0", "plain"])
def test_a_text_with_nul_comes_back(text: str) -> None:
    stored = escaped({"one": text, "many": [text, 1, None, b"\0"]})
    assert "\0" not in stored["one"]
    assert unescaped(stored) == {"one": text, "many": [text, 1, None, b"\0"]}
