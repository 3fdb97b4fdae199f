"""Why something is known: the words, where they were said, and every change since with its cause."""

from datetime import timedelta

import pytest

from support.engines import memory
from support.memories import START, record, said
from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, JournalEntry, MemoryDraft, MemoryRecord, Source
from thoughtcycle.memory.search.explain import AROUND, LONGEST, around, provenance

__all__ = ["memory"]


async def told(memory: Memory, text: str, reply: str = "certo") -> Cycle:
    return await memory.record_cycle(
        "ana", "chat", text, reply, at=START, channel="phone", user_name="Ana Maria"
    )


async def kept(memory: Memory, content: str, cycle: Cycle, words: str, **fields: object) -> MemoryRecord:
    source = Source(cycle=cycle.id, words=words)
    draft = MemoryDraft.model_validate({"content": content, "source": source, **fields})
    return (await memory.save("ana", [draft]))[0].record


@pytest.mark.spec("BY-1")
async def test_a_memory_tells_where_it_comes_from_and_what_became_of_it(memory: Memory) -> None:
    first = await told(memory, "Bom dia! Eu moro em Recife. E você?")
    second = await told(memory, "Mudei: agora moro em Natal.")
    third = await told(memory, "Como eu disse, Natal.")
    home = await kept(memory, "Mora em Recife", first, "Eu moro em Recife")
    await memory.update("ana", home.id, content="Mora em Natal", cycle=second.id, words="agora moro em Natal")
    await memory.reinforce("ana", home.id, cycle=third.id)
    (pinned,) = await memory.pin("ana", [home.id])
    why = await memory.why("ana", home.id)
    assert why.record == pinned
    origin = why.origin
    assert origin is not None
    assert (origin.cycle, origin.chat, origin.channel, origin.at) == (second.id, "chat", "phone", START)
    assert (origin.role, origin.name, origin.text) == ("user", "Ana Maria", second.message.text)
    assert [(one.op, one.content, one.asked and one.asked.text) for one in why.changes] == [
        ("save", "Mora em Recife", "Bom dia! Eu moro em Recife. E você?"),
        ("update", "Mora em Natal", "Mudei: agora moro em Natal."),
        ("reinforce", "Mora em Natal", "Como eu disse, Natal."),
        ("pin", "Mora em Natal", None),
    ]
    assert [one.number for one in why.changes] == sorted(one.number for one in why.changes)
    (former,) = why.former
    assert (former.content, former.source.words) == ("Mora em Recife", "Eu moro em Recife")


@pytest.mark.spec("BY-1", "HM-6")
async def test_a_merge_is_told_on_both_sides(memory: Memory) -> None:
    cycle = await told(memory, "Sou vegetariana e não como carne.")
    keep = await kept(memory, "É vegetariana", cycle, "Sou vegetariana")
    other = await kept(memory, "Não come carne", cycle, "não como carne")
    await memory.merge("ana", keep.id, other.id)
    why = await memory.why("ana", keep.id)
    assert [(change.op, change.other) for change in why.changes] == [("save", None), ("merge", other.id)]
    assert [version.content for version in why.former] == ["Não come carne"]
    side = await memory.why("ana", other.id)
    assert (side.record.current, [change.op for change in side.changes]) == (keep.id, ["save", "merge"])


@pytest.mark.spec("BY-9")
async def test_what_is_hidden_shows_nowhere_in_another_s_provenance(memory: Memory) -> None:
    cycle = await told(memory, "Eu moro em Recife e odeio coentro.")
    home = await kept(memory, "Mora em Recife", cycle, "Eu moro em Recife")
    herb = await kept(memory, "Odeia coentro", cycle, "odeio coentro")
    await memory.hide("ana", [herb.id])
    why = await memory.why("ana", home.id)
    assert "coentro" not in why.model_dump_json()
    assert why.origin is not None and "Eu moro em Recife" in why.origin.text
    with pytest.raises(InputRefused, match="hidden"):
        await memory.why("ana", herb.id)
    await memory.undo("ana", herb.id)
    assert (await memory.why("ana", herb.id)).record.content == "Odeia coentro"


@pytest.mark.spec("BY-5")
async def test_another_s_memory_has_no_provenance(memory: Memory) -> None:
    home = await kept(memory, "Mora em Recife", await told(memory, "Moro em Recife"), "Moro em Recife")
    for user, id in (("bia", home.id), ("ana", "unknown"), ("", home.id)):
        with pytest.raises(NotAllowed):
            await memory.why(user, id)


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("Moro em Recife.", "em Recife", "Moro em Recife."),
        ("Moro em Recife.", "não dito", "Moro em Recife."),
        ("Moro em Recife.", "", "Moro em Recife."),
        ("", "", ""),
        ("a" * 999 + "X" + "b" * 999, "X", "…" + "a" * AROUND + "X" + "b" * AROUND + "…"),
        ("X" * 99_999, "X" * 99_999, "X" * (LONGEST + AROUND) + "…"),
    ],
)
def test_the_words_are_shown_with_what_stands_around_them(text: str, words: str, shown: str) -> None:
    assert around(text, words) == shown


def test_words_of_the_assistant_are_looked_for_in_its_reply() -> None:
    reply = said("Use SQLite.", "2", "assistant")
    cycle = Cycle.model_validate(
        {
            "id": "c1",
            "user": "ana",
            "chat": "chat",
            "channel": "cli",
            "parent": None,
            "message": said("Qual banco? Use o que achar melhor."),
            "opened_at": START,
            "heartbeat": START,
            "formation": "none",
            "variants": [{"execution": "e", "messages": [reply], "steps": [], "at": START}],
        }
    )
    known = record(source=Source(cycle="c1", speaker="assistant", words="Use SQLite"))
    entry = JournalEntry(space="ana", number=1, at=START + timedelta(1), op="save", memory="m1", cycle="c1")
    made = provenance(known, [entry], [], {"c1": cycle}, str)
    assert made.origin is not None and made.origin.text == "Use SQLite."
    assert made.changes[0].asked == made.origin
    assert provenance(known, [entry], [], {}, str).origin is None
