"""A hide changes the index of messages where it has to: as if the index were made anew."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.memories import START, WordEmbedder
from thoughtcycle.memory.index.message_index import MessageIndex
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import CycleMessage, MemoryDraft, MessageHit, Source, Step, new_id
from thoughtcycle.memory.text.spans import squeezed, tokens

TOLD = (
    ("Moro em Zaragoza com a Ana-Lúcia", "Mora em Zaragoza"),
    ("Toco vio\u00adlino aos sábados", "Toca violino"),
    ("Minha irmã se chama Zoé", "Irmã: Zoé"),
    ("Adoro jiló frito 🦄", "🦄"),
    ("O alarme é 771-882", "Alarme: 771-882"),
    ("Tenho um carro_quintifruz azul", "Tem um quintifruz"),
    ("Saio cedo, volto tarde", "Trabalha longe de casa"),
)
TALK = (
    "O violinista mora em zaragoza?",
    "A Zoe toca violinos",
    "quintifruzes 🦄",
    "Bom dia, 771 882!",
    "Seu trabalho é longe da sua casa",
)


async def found(memory: Memory) -> list[tuple[Any, ...]]:
    hits = [
        hit
        for word in ("zaragoza", "violino", "zoé", "alarme", "carro", "oi", "Entendi")
        for hit in await memory.search("ana", word, include=("cycles",), limit=99, counted=False)
    ]
    return sorted(
        (one.cycle, one.message, one.text, round(one.relevance, 4))
        for one in hits
        if isinstance(one, MessageHit)
    )


async def say(memory: Memory, number: int, text: str, found: Sequence[str] = ()) -> str:
    """One exchange in which these memories were found and shown."""
    chat, id = f"c{number % 3}", new_id()
    asked = CycleMessage(id=f"{id}u", role="user", text=text, at=START)
    reply = CycleMessage(id=f"{id}a", role="assistant", text=f"Entendi: {TALK[number % len(TALK)]}", at=START)
    last = await memory.conversation("ana", chat, limit=1)
    parent = last[-1].id if last else None
    cycle = await memory.transcript.open_cycle("ana", chat, asked, parent=parent, channel="t")
    step = Step(action="MemorySearch", input="x", outcome="y", status="done", found=[*found])
    await memory.transcript.close_cycle(
        "ana", cycle.id, execution=id, messages=[reply], steps=[step], formation="none", shown=found
    )
    return cycle.id


@pytest.mark.spec("BY-9")
@pytest.mark.parametrize("seed", range(4))
async def test_what_is_hidden_and_brought_back_is_found_as_in_an_index_made_anew(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, url, ids = random.Random(seed), f"sqlite:///{tmp_path}/m.db", list[str]()
    async with Memory.open(url, embeddings=WordEmbedder()) as memory:
        for number, (said, content) in enumerate(TOLD):
            cycle = await say(memory, number, said)
            draft = MemoryDraft(content=content, source=Source(cycle=cycle, words=said))
            (saved,) = await memory.save("ana", [draft])
            ids.append(saved.record.id)
        for number in range(30):
            shown = [ids[-1]] if number % 10 == 4 else [chance.choice(ids)] if number % 5 == 0 else ()
            await say(memory, number, chance.choice(TALK), shown)
        await found(memory)
        made, blots = list[int](), 0
        monkeypatch.setattr(MessageIndex, "__init__", counted(MessageIndex.__init__, made))
        for number in range(10):
            hidden = [one.id for one in await memory.list("ana", statuses=("hidden",))]
            one = chance.choice(ids) if number else ids[-1]
            if one in hidden:
                await memory.undo("ana", one)
            else:
                await memory.hide("ana", [one])
            if number == 4:
                await say(memory, number, chance.choice(TALK))
            known, before = await found(memory), len(made)
            blots += sum("[…]" in str(row) for row in known)
            async with Memory.open(url, embeddings=WordEmbedder()) as anew:
                assert await found(anew) == known
            del made[before:]
        assert blots and not made, "no index is made anew for a hide"


def counted(original: Any, made: list[int]) -> Any:
    def init(self: Any, *given: Any) -> None:
        made.append(1)
        original(self, *given)

    return init


@pytest.mark.parametrize(
    "text",
    [
        "Olá, Ana-Lúcia!",
        "vio\u00adlino_azul ß",
        "ﬁm № ½ é e\u0301",
        "ΣΑΣ İstanbul 한국 हिन्दी",
        "",
        "🦄 _-",
        "x\u200by",
    ],
)
def test_squeezed_is_the_words_without_what_parts_them(text: str) -> None:
    assert squeezed(text) == "".join(tokens(text).words)
