"""Run as a program: makes a database with the code as it stands, and tells what that says of it.

Writes to tests/data the same days as `database_v<schema number of SQLite>.sqlite` and as documents of MongoDB, one
a line (`.jsonl`), and what is said of them (`.json`). It is run once, before a schema changes, and not again:
the code that comes later opens them and has to say the same.
"""

import asyncio
import json
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

from bson import json_util
from pymongo import MongoClient

from support import command
from support.memories import WordEmbedder, said
from support.mongo import mongodb_server, with_database
from thoughtcycle.integrations.store import ThoughtCycleStore
from thoughtcycle.memory.core.worker import Worker
from thoughtcycle.memory.erasure.service import GRACE
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.job import new_job
from thoughtcycle.memory.model.records import MemoryDraft, Source
from thoughtcycle.memory.rules.rendering import render_object
from thoughtcycle.memory.storage.sqlite import schema as sqlite_schema
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import FORM, GARDEN, enqueue_formation, job_kinds

DATA = Path(__file__).parent.parent / "data"
MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)
LIMITS = Limits(memory_words=200, compress_at=0.7, compress_to=0.6)
SETTINGS = {
    "THOUGHTCYCLE_LIMITS__MEMORY_WORDS": "200",
    "THOUGHTCYCLE_LIMITS__COMPRESS_AT": "0.7",
    "THOUGHTCYCLE_LIMITS__COMPRESS_TO": "0.6",
}
"""The same for the command."""
PORTUGUESE, ENGLISH = "ana", "ben"

REPLIES = {
    PORTUGUESE: "Certo, vou lembrar disso.",
    ENGLISH: "All right, I will keep that in mind.",
}
TALKS: dict[tuple[str, str], tuple[str, ...]] = {
    (PORTUGUESE, "casa"): (
        "oi, tudo bem?",
        "meu nome é Ana e moro em Recife, estou ansiosa com o prazo da mudança",
        "Quero economizar R$ 5.000 até junho para a viagem de julho com a família",
        "prefiro falar por whatsapp",
        "gosto de café e não gosto de carne de porco",
        "continuo ansiosa com o prazo da mudança, e agora moro em Natal",
        "minha cachorra se chama Luna e a ração dela custa R$ 350 por mês",
        "não gosto mais de café, e o dentista fica na rua das Flores 120",
        "fiquei ansiosa com o prazo da mudança, o caminhão custa R$ 1.280,50 no dia 12/05/2026",
        "não quero gastar mais de R$ 200 por mês com delivery",
    ),
    (PORTUGUESE, "trabalho"): (
        "decidi que o projeto usa Postgres e o orçamento é de R$ 900",
        "Guarde este código:\n```python\ndef taxa(x):\n    return x * 2.5\n```",
        "minha chefe se chama Paula e a reunião é na sexta às 15:00",
        "prefiro relatórios em PDF",
    ),
    (ENGLISH, "home"): (
        "hi, how are you?",
        "my name is Ben and I live in Lisbon, I am anxious about the deadline",
        "I want to save $3,000 by October for a new bike",
        "I prefer e-mail, and my dentist is on Tuesday at 10:30",
        "I don't want to spend more than $120 a month on takeout",
        "I like tea and I don't like coriander",
    ),
}


def url_of(path: Path) -> str:
    """The URL of a SQLite file."""
    return f"sqlite:///{path}"


@asynccontextmanager
async def opened(url: str, now: datetime = NOW) -> AsyncIterator[Memory]:
    """The memory in this database, at a time that stands still."""
    async with Memory.open(url, embeddings=WordEmbedder(dimension=8), clock=lambda: now) as memory:
        yield memory


async def formed(memory: Memory, now: datetime = NOW) -> None:
    """Formation of all that waits, one cycle after the other."""
    services = Services(memory, RuleMind(), LIMITS, clock=lambda: now)
    form = {FORM: job_kinds(services, GRACE)[FORM]}
    await Worker(memory.queue, form, slots=1, look=lambda: enqueue_formation(memory)).drain()


async def say(memory: Memory, user: str, chat: str, text: str, at: datetime) -> str:
    """One exchange; the id of its cycle."""
    told = await memory.record_cycle(user, chat, text, REPLIES[user], at=at, channel="whatsapp")
    return told.id


async def fill(url: str) -> None:
    """The days of both users."""
    at, cycles = MONDAY, dict[str, str]()
    for (user, chat), texts in TALKS.items():
        for text in texts:
            at += timedelta(hours=7)
            async with opened(url, at) as memory:
                cycles[text] = await say(memory, user, chat, text, at)
                await formed(memory, at)
    async with opened(url, at + timedelta(hours=1)) as memory:
        await branched(memory)
        await kept(memory, cycles)
    async with opened(url, NOW) as memory:
        await taken_away(memory)
        await say(memory, PORTUGUESE, "trabalho", "isto ainda espera pela formação, R$ 77", NOW)


async def branched(memory: Memory) -> None:
    """A message that was edited after its reply, and one that was answered twice."""
    user, chat = ENGLISH, "garden"
    parent = None
    for number, text in enumerate(("I grow tomatoes", "I water them daily", "I water them twice a week")):
        message = said(text, id=f"garden-{number}")
        cycle = await memory.transcript.open_cycle(user, chat, message, parent=parent, channel="web")
        for answer in ("a", "b")[: 1 + (number == 2)]:
            reply = said(f"Noted: {text}", f"garden-{number}-{answer}", "assistant")
            found = {"action": "memory_save", "input": text, "outcome": "Saved.", "status": "done"}
            await memory.transcript.close_cycle(
                user, cycle.id, execution=answer, messages=[reply], steps=[found]
            )  # type: ignore[list-item]
        parent = cycle.id if number == 0 else parent
    await formed(memory, memory.core.clock())


async def kept(memory: Memory, cycles: dict[str, str]) -> None:
    """Memories, a file, an item of an app, settings, a title, a job, who is who on a channel."""
    dog = next(id for text, id in cycles.items() if "Luna" in text)
    boss = next(id for text, id in cycles.items() if "Paula" in text)
    drafts = [
        MemoryDraft(content="Cachorra: Luna", kind="bio", source=Source(cycle=dog, words="Luna")),
        MemoryDraft(content="Chefe: Paula", kind="bio", source=Source(cycle=boss, words="Paula")),
        MemoryDraft(content={"placa": "ABC-1234", "cor": "azul"}, type="json", tags=("carro",)),
        MemoryDraft(content="Quer aprender violão", kind="obj", bindings=("música",)),
    ]
    *_, car, guitar = [one.record.id for one in await memory.save(PORTUGUESE, drafts)]
    await memory.pin(PORTUGUESE, [car])
    await memory.update(PORTUGUESE, guitar, content="Quer aprender violoncelo")
    (old,) = await memory.save(PORTUGUESE, [MemoryDraft(content="Lembrete da festa de ontem")])
    await memory.archive(PORTUGUESE, [old.record.id])
    await memory.attach(PORTUGUESE, "lista.txt", "arroz, feijão e café".encode(), caption="lista de compras")
    await memory.search(PORTUGUESE, "violoncelo", limit=3)
    await memory.change_settings(PORTUGUESE, smart_context=True, time_zone="America/Recife")
    await memory.change_settings(ENGLISH, language="en")
    await memory.rename_chat(PORTUGUESE, "casa", "A casa nova")
    await memory.link_channel("whatsapp", "+55 81 98765-4321", await memory.link_code(PORTUGUESE))
    await memory.queue.put(new_job(GARDEN, user=PORTUGUESE, due=NOW + timedelta(days=1)))
    store = ThoughtCycleStore(memory, owner=lambda namespace: namespace[0])
    await store.aput((ENGLISH, "notes"), "bike", {"model": "gravel", "gears": 11})


async def taken_away(memory: Memory) -> None:
    """One memory is hidden, one erased for good; what was said of them is masked, and redacted."""
    known = {one.content: one.id for one in await memory.list(PORTUGUESE) if isinstance(one.content, str)}
    await memory.hide(PORTUGUESE, [known["Cachorra: Luna"]])
    assert (await memory.erase(PORTUGUESE, [known["Chefe: Paula"]])).left == ()


async def told(memory: Memory) -> dict[str, Any]:
    """All that the memory says of each user, as plain JSON."""
    return {user: await told_of(memory, user) for user in (PORTUGUESE, ENGLISH)}


async def told_of(memory: Memory, user: str) -> dict[str, Any]:
    """See `told`."""
    chats = sorted(chat.id for chat in await memory.chats(user))
    kept = {chat: await memory.kept_chat(user, chat) for chat in chats}
    sheets = await memory.sheets(user, chats[0])
    assert sheets.conversation is not None
    stats = await memory.stats(user)
    return {
        "export": [line async for line in memory.export(user)],
        "conversation memories": {
            chat: plain(await memory.conversation_memory(user, chat)) for chat in chats
        },
        "conversations": {
            chat: render_object(one.memory, one.recent, LIMITS.word_budget) for chat, one in kept.items()
        },
        "for a reply": [one.summary for one in sheets.conversation.old_memory + sheets.conversation.periods],
        "profile": plain(await memory.profile(user)),
        "settings": plain(await memory.settings(user)),
        "memories": [plain(one) for one in await memory.list(user)],
        "transcript": {chat: [plain(one) for one in await memory.conversation(user, chat)] for chat in chats},
        "pending": [one.id for one in await memory.conversations.pending_cycles(user, limit=9)],
        "jobs": [plain(one) for one in await memory.queue.listing([user])],
        "links": [plain(one) for one in await memory.channel_links(user)],
        "found": [hit.record.id for hit in await memory.search(user, "viagem bike", limit=5, counted=False)],
        "counts": [stats.chats, stats.cycles, stats.changes, stats.pending, stats.by_status],
        "sheets": dict(sorted(stats.sheets.items())),
        "flaws": [flaw.code for flaw in await memory.doctor(user)],
    }


def plain(one: Any) -> Any:
    """A record as JSON."""
    return one.model_dump(mode="json")


async def brought_back(memory: Memory) -> dict[str, Any]:
    """What the memory of the chat is once what was hidden is undone."""
    (hidden,) = await memory.core.storage.erasure.hidden(PORTUGUESE)
    await memory.undo(PORTUGUESE, hidden.id)
    return plain(await memory.conversation_memory(PORTUGUESE, "casa"))  # type: ignore[no-any-return]


async def gone_on(memory: Memory) -> dict[str, Any]:
    """What the memories of the chats are after some exchanges more."""
    at = NOW
    for number in range(6):
        at += timedelta(hours=1)
        text = (
            f"hoje paguei R$ {410 + number},90 ao pedreiro da reforma, depois de muita conversa sobre o prazo"
        )
        await say(memory, PORTUGUESE, "casa", text, at)
        await say(memory, ENGLISH, "garden", f"today I picked {7 + number} tomatoes", at)
    await formed(memory)
    return {
        chat: plain(await memory.conversation_memory(user, chat))
        for user, chat in ((PORTUGUESE, "casa"), (ENGLISH, "garden"), (PORTUGUESE, "trabalho"))
    }


LATER: dict[str, Callable[[Memory], Awaitable[dict[str, Any]]]] = {
    "brought back": brought_back,
    "gone on": gone_on,
}
"""What is done, each with a copy of its own."""


def commanded(path: Path) -> dict[str, Any]:
    """What the command says, where its words do not depend on the day."""
    found = {}
    for (user, chat), _ in TALKS.items():
        shown = command.run("conversations", "show", chat, "--json", "--user", user, db=path, env=SETTINGS)
        assert shown.returncode == 0, shown.stderr
        found[chat] = json.loads(shown.stdout)
    return found


async def make_sqlite(path: Path) -> None:
    """The file is written where no reader of it is: it has no log beside it."""
    await fill(url_of(path))
    with sqlite3.connect(path) as db:
        for pragma in ("journal_mode = DELETE", "page_size = 1024"):
            db.execute(f"PRAGMA {pragma}")
        db.execute("VACUUM")
    path.chmod(0o644)


async def say_all(copy: Callable[[], str]) -> dict[str, Any]:
    """What is said of a database, and what is done with a copy of it; `copy` makes one and gives its URL."""
    async with opened(copy()) as memory:
        golden = await told(memory)
    for what, work in LATER.items():
        async with opened(copy()) as memory:
            golden[what] = await work(memory)
    return golden


def copies(made: Path, folder: Path) -> Iterator[str]:
    """The URLs of ever new copies of a SQLite file."""
    for number in count():
        yield url_of(shutil.copy(made, folder / f"copy-{number}.sqlite"))


def loads(made: Path, server: str) -> Iterator[str]:
    """The URLs of ever new databases that hold the documents in this file."""
    for _ in count():
        url = with_database(server, f"copy_{uuid4().hex[:12]}")
        load(url, made)
        yield url


async def make() -> None:
    """Writes all files; both databases have to say the same."""
    name = f"database_v{len(sqlite_schema.MIGRATIONS)}"
    file, lines = DATA / f"{name}.sqlite", DATA / f"{name}.jsonl"
    with tempfile.TemporaryDirectory() as folder, mongodb_server(Path(folder), lasting=False) as server:
        await make_sqlite(file)
        golden = await say_all(copies(file, Path(folder)).__next__)
        await fill(url := with_database(server, "made"))
        lines.write_text("".join(f"{line}\n" for line in dumped(url)), encoding="utf-8")
        assert await say_all(loads(lines, server).__next__) == golden
        golden["command"] = commanded(Path(shutil.copy(file, folder)))
    text = json.dumps(golden, indent=1, ensure_ascii=False, sort_keys=True)
    (DATA / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


def dumped(url: str) -> list[str]:
    """The documents of a database."""
    with MongoClient(url) as client:
        db = client.get_default_database()
        return [
            json_util.dumps([name, one], json_options=json_util.CANONICAL_JSON_OPTIONS, ensure_ascii=False)
            for name in sorted(db.list_collection_names())
            for one in db[name].find({})
        ]


def load(url: str, path: Path) -> None:
    """Brings what `dumped` gave into a database that is empty."""
    with MongoClient(url) as client:
        db = client.get_default_database()
        for line in path.read_text(encoding="utf-8").splitlines():
            name, document = json_util.loads(line)
            db[name].insert_one(document)


if __name__ == "__main__":
    asyncio.run(make())
