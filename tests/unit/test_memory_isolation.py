"""No input of one user reaches another user's memory, whatever the two do in whichever order."""

import random
from pathlib import Path

import pytest

from support.engines import memory
from support.memories import WordEmbedder, hidden, said, step
from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft, MemoryHit, Source

__all__ = ["memory"]

TOPICS = ("casa", "carro", "praia", "gato")


async def state(memory: Memory, user: str) -> object:
    """All that `user` can see."""
    everything = await memory.list(user, statuses=("active", "archived", "superseded", "hidden", "erased"))
    history = [await memory.history(user, record.id) for record in everything]
    hits = [await memory.search(user, topic, limit=50) for topic in TOPICS]
    return everything, history, [scores(found) for found in hits], await hidden(memory, user)


def scores(hits: list[MemoryHit]) -> list[tuple[str, str]]:
    """Which memories were found, in order; recency moves with the clock, so scores do not belong here."""
    return [(hit.record.id, hit.matched) for hit in hits]


async def act(memory: Memory, user: str, ids: list[str], chance: random.Random) -> None:
    """Something or other that `user` does, with ids that may be anybody's."""
    topic, id = chance.choice(TOPICS), chance.choice([*ids, "unknown"])
    try:
        match chance.randrange(12):
            case 0 | 1:
                draft = MemoryDraft(content=f"{topic} {chance.randrange(99)}", key=topic, bindings=(topic,))
                ids += [saved.record.id for saved in await memory.save(user, [draft])]
            case 2:
                await memory.update(user, id, content=f"outra {topic}")
            case 3:
                await memory.hide(user, [id])
            case 4 | 5:
                await memory.undo(user, chance.choice([None, id]))
            case 6:
                await memory.archive(user, [id])
            case 7:
                await memory.restore(user, [id])
            case 8:
                await chance.choice([memory.pin, memory.unpin])(user, [id])
            case 9:
                await memory.reinforce(user, id)
            case 10:
                await memory.merge(user, id, chance.choice([*ids, "unknown"]))
            case _:
                await memory.search(user, topic)
    except (NotAllowed, InputRefused):
        pass


@pytest.mark.spec("BY-5")
@pytest.mark.parametrize("seed", range(4))
async def test_what_one_user_does_never_changes_what_another_sees(memory: Memory, seed: int) -> None:
    chance = random.Random(seed)
    ids: list[str] = []
    for _ in range(25):
        await act(memory, "ana", ids, chance)
    before = await state(memory, "ana")
    for _ in range(40):
        await act(memory, "bia", ids, chance)
    assert await state(memory, "ana") == before
    owners = {
        record.space for record in await memory.list("bia", statuses=("active", "hidden", "superseded"))
    }
    assert owners <= {"bia"}


@pytest.mark.spec("BY-5")
async def test_another_s_memories_do_not_move_a_score(tmp_path: Path) -> None:
    def facts(count: int) -> list[MemoryDraft]:
        return [MemoryDraft(content=f"praia {number} gato", bindings=("praia",)) for number in range(count)]

    seen = []
    for others in (0, 60):
        url = f"sqlite:///{tmp_path}/{others}.db"
        async with Memory.open(url, embeddings=WordEmbedder(), clock=lambda: said("").at) as memory:
            if others:
                await memory.save("bia", facts(others))
            await memory.save("ana", facts(3))
            hits = await memory.search("ana", "praia do gato", limit=9)
            seen.append([(hit.record.content, hit.relevance) for hit in hits])
    assert seen[0] == seen[1]
    assert len(seen[0]) == 3


@pytest.mark.spec("BY-5")
async def test_the_same_words_of_two_users_are_two_memories(memory: Memory) -> None:
    draft = MemoryDraft(content="Vegetariano", key="diet", source=Source(cycle="c1"))
    (one,) = await memory.save("ana", [draft])
    (other,) = await memory.save("bia", [draft])
    assert one.record.id != other.record.id
    assert (one.outcome, other.outcome) == ("saved", "saved")
    await memory.hide("bia", [other.record.id])
    assert await memory.get("ana", one.record.id) == one.record


@pytest.mark.spec("BY-5")
async def test_another_s_ids_and_chats_are_unknown(memory: Memory) -> None:
    (saved,) = await memory.save("ana", [MemoryDraft(content="Vegetariano")])
    id = saved.record.id
    cycle = await memory.transcript.open_cycle("ana", "chat", said("oi"), parent=None, channel="cli")
    assert await memory.get("bia", id) is None
    assert await memory.history("bia", id) == []
    assert await memory.versions("bia", id) == []
    assert await memory.transcript.settle_branches("bia", "chat", None) == []
    with pytest.raises(NotAllowed, match="another user"):
        await memory.transcript.open_cycle("bia", "chat", said("oi"), parent=None, channel="cli")
    with pytest.raises(NotAllowed):
        await memory.conversation("bia", "chat")
    assert await memory.conversation("bia", "chat", tip=cycle.id) == []
    with pytest.raises(NotAllowed):
        await memory.transcript.append("bia", cycle.id, "e", step(), None)
    with pytest.raises(NotAllowed):
        await memory.hide("bia", [id])
    with pytest.raises(NotAllowed):
        await memory.update("bia", id, content="x")
    with pytest.raises(NotAllowed):
        await memory.undo("bia", id)
