"""Where a rare word may come to: a user's database, and the product's own ways to each place in it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from support.graphs import Lab
from support.survivors import survivors
from support.web import RULES
from thoughtcycle.checkpoints.erasure import bound
from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.graph import create_thought_cycle
from thoughtcycle.integrations.store import ThoughtCycleStore
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import CycleMessage, MemoryDraft, Source, new_id, utc_now
from thoughtcycle.memory.offline import SpooledTranscript
from thoughtcycle.mind.embeddings import build_embeddings
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.limits import Limits
from torture.imports import export

SOFT_HYPHEN = "\u00ad"
FORMS = ("Quintifruz", "Quintífrúz", "QUINTIFRUZ", f"Quinti{SOFT_HYPHEN}fruz", "Quinti-Fruz")
"""One word as people write it; keys and titles also join it to others with `_`."""
LIMITS = Limits(memory_words=200, compress_to=0.2)
"""With which the memory of a chat is compressed soon."""
FIGURE = "47.138,09"
LONG = "Hoje li a tarde toda um livro comprido sobre navios antigos, mares e portos cheios de gente. " * 4
SMALL_TALK = ("Gosto de jazz.", "Prefiro chá.", "Tenho uma bicicleta verde.", "Tudo bem?")
FILE = {"type": "text-plain", "mime_type": "text/plain"}


@dataclass
class Scene:
    """A user's database, what was brought there, and where the word was before."""

    url: str
    folder: Path
    word: str
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    talk: Lab = field(init=False)
    words: tuple[str, ...] = ("Quinti Fruz",)
    """As they are sought: with the blank and without."""
    ids: list[str] = field(default_factory=list)
    item: tuple[tuple[str, ...], str] = ((), "")
    before: list[str] = field(default_factory=list)

    @property
    def memory(self) -> Memory:
        return self.talk.memory

    @property
    def store(self) -> ThoughtCycleStore:
        """LangGraph's store on this memory."""
        return ThoughtCycleStore(self.memory, owner=lambda namespace: namespace[0])

    async def open(self, days: int = 0) -> None:
        """Opens the database as a program would that has a spool, so many days from now."""
        embeddings, spool = build_embeddings(RULES), self.folder / "spool"

        def clock() -> datetime:
            return utc_now() + timedelta(days)

        memory = await self.stack.enter_async_context(
            Memory.open(self.url, embeddings=embeddings, clock=clock, spool=spool)
        )
        saver = await self.stack.enter_async_context(open_checkpointer(self.url))
        given: dict[str, Any] = {"mind": RuleMind(), "limits": LIMITS, "clock": clock}
        graph = create_thought_cycle(memory=memory, checkpointer=saver, **given)
        bound(memory, saver)
        self.talk = Lab(graph, memory, checkpointer=saver, **given)

    async def close(self) -> None:
        """Closes it, so that another process has it alone."""
        await self.stack.aclose()

    async def say(self, text: Any, thread: str = "t", **context: Any) -> str:
        """One turn; the reply."""
        return await self.talk.answer(text, thread, language="pt", **context)

    async def learn(self, *texts: str) -> None:
        """Says each, and lets it be understood."""
        for text in texts:
            await self.say(text)
            await self.talk.understand("form")

    async def keep(self, content: str, **fields: Any) -> None:
        """A memory of an exchange in the chat, and a question that it answers."""
        await self.say("Tudo bem?")
        (told,) = await self.memory.conversation("ana", "t")
        source = Source(cycle=told.id, words=told.message.text)
        await self.memory.save("ana", [MemoryDraft(content=content, source=source, **fields)])
        await self.say("De que cor é o meu carro?")

    async def sought(self) -> list[str]:
        """Where the word is."""
        return await asyncio.to_thread(survivors, self.url, self.folder, None, self.words)

    async def note(self) -> None:
        """Notes where the word is by now, and the ids of the memories that have it."""
        self.before += await self.sought()


Step: TypeAlias = Callable[[Scene], Awaitable[None]]


@dataclass(frozen=True)
class Place:
    """How the word comes there, what tells that it did, and how a user asks for it to be erased."""

    bring: Step
    where: str
    """A pattern that one line about the word before the erasure has."""
    request: str = "Apague definitivamente meu nome."
    chat: bool = True
    """Whether it goes with its chat."""


async def name(scene: Scene) -> None:
    await scene.say(f"Meu nome é {scene.word}.")


async def reply(scene: Scene) -> None:
    await name(scene)
    await scene.say("Qual é o meu nome?", "other")


async def summary(scene: Scene) -> None:
    await scene.learn(f"Meu nome é {scene.word}.", *SMALL_TALK[:2])


async def profile(scene: Scene) -> None:
    await scene.learn(f"Estou muito triste com o {scene.word}.")


async def ledger(scene: Scene) -> None:
    scene.words = (FIGURE, "47138.09")
    await scene.learn(f"Meu aluguel custa R$ {FIGURE} por mês.", *(LONG + text for text in SMALL_TALK))
    assert FIGURE in str((await scene.memory.conversation_memory("ana", "t")).ledger)


async def journal(scene: Scene) -> None:
    await name(scene)
    (one,) = await scene.memory.list("ana")
    await scene.memory.update("ana", one.id, content="Nome: Rui")


async def attachment(scene: Scene) -> None:
    name = {"title": f"contrato_{scene.word.replace(SOFT_HYPHEN, '')}"}
    file = {**FILE, **name, "text": f"O fiador deste contrato chama-se {scene.word}."}
    await scene.say([{"type": "text", "text": "Guarde este contrato."}, file])
    await scene.say("Quem é o fiador do contrato?", "other")


async def imported(scene: Scene) -> None:
    await export(scene.folder, {"old": (f"Nome: {scene.word}",)})
    await scene.memory.import_file("ana", scene.folder / "old.jsonl")
    for left in scene.folder.glob("old.*"):
        left.unlink()
    await scene.say("Qual é o meu nome?")


async def checkpoint(scene: Scene) -> None:
    await name(scene)
    await scene.say("Qual é o meu nome?", "incognito", incognito=True)


async def spool(scene: Scene) -> None:
    transcript = scene.memory.transcript
    assert isinstance(transcript, SpooledTranscript)
    message = CycleMessage(id=new_id(), role="user", text=f"Meu nome é {scene.word}.", at=utc_now())
    await transcript.keep_message("ana", "t", message, channel="chat")
    await scene.note()
    while not await scene.memory.availability.over():
        pass
    await scene.talk.understand("form")


async def key(scene: Scene) -> None:
    await scene.keep("Tem um carro amarelo", key=f"carro_{scene.word}", bindings=("carro",))


async def tag(scene: Scene) -> None:
    await scene.keep("Tem um carro amarelo", tags=(scene.word,), bindings=(scene.word, "carro"))


async def title(scene: Scene) -> None:
    await name(scene)
    await scene.memory.rename_chat("ana", "t", f"Conversa_{scene.word}")


CAR = "Apague definitivamente que tenho um carro amarelo."
PLACES = {
    "reply": Place(reply, "cycles"),
    "summary": Place(summary, "entries"),
    "profile": Place(profile, "documents", "Apague definitivamente como me sinto."),
    "ledger": Place(ledger, "entries", "Apague definitivamente o que sabe sobre meu aluguel."),
    "journal": Place(journal, "journal"),
    "attachment": Place(attachment, "files", "Apague definitivamente meu contrato."),
    "import": Place(imported, "memories", chat=False),
    "checkpoint": Place(checkpoint, "checkpoints"),
    "spool": Place(spool, "spool"),
    "key": Place(key, "checkpoints", "Apague tudo definitivamente."),
    "tag": Place(tag, "memories", CAR),
    "title": Place(title, "conversations"),
}


def item(label: str, key: str, *values: str) -> Place:
    """An item of LangGraph's store whose namespace, key or values, one after the other, have the word for %."""

    async def put(scene: Scene) -> None:
        filled = [text.replace("%", scene.word) for text in (label, key, *values)]
        scene.item = ("ana", filled[0]), filled[1]
        for value in filled[2:]:
            await scene.store.aput(*scene.item, {"text": value})

    return Place(put, "journal" if len(values) > 1 else "memories")


ITEMS = {
    "value": item("facts", "k", "Mora em %"),
    "former value": item("facts", "k", "Mora em %", "Mora em Natal"),
    "item key": item("facts", "casa_%", "Mora em Natal"),
    "namespace": item("%", "k", "Mora em Natal"),
}
