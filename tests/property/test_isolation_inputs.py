"""Inputs chosen to be taken for another user's, or to be too much: each reaches its own user's memory only."""

from uuid import uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.databases import new_database
from support.memories import START
from support.properties import SPEECH, USERS, QuickEmbedder
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import CycleMessage, MemoryDraft, Source
from thoughtcycle.memory.model.ids import NAMESPACE, named_id
from thoughtcycle.memory.text.analyzer import identity

names = st.lists(st.text(alphabet="a\x1e\x1f01", max_size=4), min_size=1, max_size=4)


@pytest.mark.spec("BY-5")
@given(names, names)
def test_different_names_give_different_ids(one: list[str], other: list[str]) -> None:
    assert (named_id(*one) == named_id(*other)) == (one == other)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x1e\x1f")))
def test_an_id_is_the_name_based_uuid_of_its_name(name: str) -> None:
    assert named_id(name) == str(uuid5(NAMESPACE, name))


@pytest.mark.spec("BY-5")
async def test_a_user_named_to_meet_another_s_id_keeps_nobody_from_saving(database_url: str) -> None:
    """Ids are made from names: these two would be one, if the names were only joined."""
    own = identity("text", "gato")
    drafts = {
        "ana": MemoryDraft(content="gato", source=Source(cycle=f"{own}\x1fc")),
        f"ana\x1f{own}": MemoryDraft(content="gato", source=Source(cycle="c")),
    }
    async with Memory.open(database_url, embeddings=QuickEmbedder()) as memory:
        for user, draft in drafts.items():
            (saved,) = await memory.save(user, [draft])
            assert saved.outcome == "saved"
        message = CycleMessage(id="m", role="user", text="oi", at=START)
        for user, chat, id in (("ana", "chat\x1fm", "m"), ("bia", "chat", "m\x1fm")):
            said = message.model_copy(update={"id": id})
            cycle = await memory.transcript.open_cycle(user, chat, said, parent=None, channel="test")
            assert (cycle.user, cycle.chat) == (user, chat)


@pytest.mark.spec("BY-5")
async def test_users_whose_names_look_alike_share_nothing(mongodb_url: str) -> None:
    """On MongoDB; the other tests here do the same on SQLite, with more steps."""
    async with Memory.open(new_database(mongodb_url), embeddings=QuickEmbedder()) as memory:
        saved = {}
        for number, user in enumerate(USERS):
            text = f"{SPEECH[number % len(SPEECH)]} {number}"
            draft = MemoryDraft(content=text, key="$key", bindings=(user,), source=Source(cycle="c"))
            (saved[user],) = await memory.save(user, [draft])
            await memory.record_cycle(user, f"chat {user}", text, "praia", at=START, channel="test")
        await memory.hide(USERS[0], [saved[USERS[0]].record.id])
        for number, user in enumerate(USERS):
            found = await memory.search(user, "praia gato", floor=0.0, limit=99, include=("facts", "cycles"))
            active = [] if number == 0 else [saved[user].record]
            assert await memory.list(user) == active
            assert {hit.record.id for hit in found if hasattr(hit, "record")} <= {one.id for one in active}
            assert len(await memory.history(user, saved[user].record.id)) == (2 if number == 0 else 1)
            for other in USERS:
                assert (await memory.get(other, saved[user].record.id) is None) == (other != user)


@pytest.mark.spec("BY-5")
async def test_a_megabyte_is_kept_found_and_nobody_else_s(database_url: str) -> None:
    content = "gato $x \x01 👩‍👩‍👧 שלום '\"\\ " * 30_000
    assert len(content.encode()) > 1_000_000
    async with Memory.open(database_url, embeddings=QuickEmbedder()) as memory:
        await memory.save("bia", [MemoryDraft(content="gato preto")])
        before = await memory.search("bia", "gato", floor=0.0)
        (saved,) = await memory.save("ana", [MemoryDraft(content=content)])
        assert [hit.record.id for hit in await memory.search("ana", "gato")] == [saved.record.id]
        (kept,) = await memory.list("ana")
        assert kept.content == content
        assert [hit.record.id for hit in before] == [
            hit.record.id for hit in await memory.search("bia", "gato", floor=0.0)
        ]
