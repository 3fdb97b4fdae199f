"""The database is away, locked or full: replies go on, what was said arrives later, once, and nobody is told lies."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from support.child import ENVIRONMENT
from support.doctor import problems
from support.graphs import Lab
from support.memories import WordEmbedder, pragma, said, step
from support.mongo import mongodb_server, with_database
from thoughtcycle.checkpoints.erasure import bound
from thoughtcycle.checkpoints.factory import Saver, open_checkpointer
from thoughtcycle.checkpoints.sqlite import SqliteSaver
from thoughtcycle.cli.chat import Session
from thoughtcycle.cli.display import PipeDisplay
from thoughtcycle.errors import LearnedLater, MemoryAway, StorageFailed, StorageUnavailable
from thoughtcycle.graph.thought_cycle import create_thought_cycle
from thoughtcycle.integrations.tool_service import ToolRefused, ToolRequest, ToolService
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.memory.offline import outage
from thoughtcycle.memory.offline.outage import Outage, SpooledTranscript
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.resources import Resources
from thoughtcycle.runtime.settings import Settings

AWAY = {"pt": "A memória está fora de alcance agora", "en": "Memory is out of reach right now"}

NOTHING_READ = {"pt": "nada pôde ser consultado", "en": "nothing could be looked up"}

LOCK = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.readline()
"""


async def opening_fails(_: Outage) -> AsyncIterator[None]:
    raise StorageUnavailable("m.db")
    yield


@asynccontextmanager
async def locked(path: Path, memory: Memory) -> AsyncIterator[None]:
    """Another process holds the file's write lock, for which `memory` does not wait long."""
    with subprocess.Popen(
        [sys.executable, "-c", LOCK, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"locked\n"
        try:
            await pragma(memory, "busy_timeout = 50")
            yield
            await pragma(memory, "busy_timeout = 60000")
        finally:
            holder.kill()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "FIRST_DELAY", 0.05)
    monkeypatch.setattr(outage, "LONGEST_DELAY", 0.5)


@asynccontextmanager
async def spooled(url: str, folder: Path, limit: int = 1_000_000) -> AsyncIterator[Memory]:
    async with Memory.open(
        url, embeddings=WordEmbedder(), spool=folder / "spool", spool_bytes=limit
    ) as memory:
        yield memory


def lab_of(memory: Memory) -> Lab:
    saver = InMemorySaver()
    return Lab(
        create_thought_cycle(memory=memory, mind=RuleMind(), checkpointer=saver), memory, RuleMind(), saver
    )


def outage_of(memory: Memory) -> Outage:
    assert isinstance(memory.availability, Outage)
    return memory.availability


def spool_of(memory: Memory) -> SpooledTranscript:
    assert isinstance(memory.transcript, SpooledTranscript)
    return memory.transcript


async def arrived(memory: Memory) -> None:
    """Waits until nothing waits any more."""
    async with asyncio.timeout(120):
        while outage_of(memory).under_way:
            await asyncio.sleep(0.02)
    assert await problems(memory.core.storage, "ana") == []


async def told(memory: Memory) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The active memories, and the live branch of the chat: message and replies of each cycle."""
    cycles = await memory.conversation("ana", "t", limit=9)
    talk = [(cycle.message.text, [reply.text for reply in cycle.replies]) for cycle in cycles]
    return sorted(record.text for record in await memory.list("ana")), talk


@pytest.mark.spec("CM-8")
@pytest.mark.parametrize(
    ("language", "hated", "name", "forget", "who"),
    [
        ("pt", "Odeio coentro", "Meu nome é Ana", "Apague que odeio coentro", "Qual é o meu nome?"),
        ("en", "I hate coriander", "My name is Ana", "Forget that I hate coriander", "What is my name?"),
    ],
)
async def test_a_locked_file_does_not_stop_the_talk(
    tmp_path: Path, language: str, hated: str, name: str, forget: str, who: str
) -> None:
    path = tmp_path / "m.db"
    async with spooled(f"sqlite:///{path}", tmp_path) as memory:
        lab = lab_of(memory)
        said = {"language": language}
        assert "Ana" not in await lab.answer(hated, **said)
        refused = LearnedLater().text(language)  # type: ignore[arg-type]
        assert refused.startswith(AWAY[language]) and NOTHING_READ[language] in refused
        async with locked(path, memory):
            saved, deleted = [await lab.answer(message, **said) for message in (name, forget)]
            assert saved == refused
            assert deleted == refused
            assert deleted.count(AWAY[language]) == 1
        kept = await memory.list("ana")
        assert len(kept) == 1 and "Ana" not in kept[0].text
        await arrived(memory)
        _, talk = await told(memory)
        assert [(message, " ".join(replies)) for message, replies in talk[1:]] == [
            (name, saved),
            (forget, deleted),
        ]
        await lab.understand()
        assert len(await memory.list("ana")) == 2
        assert "Ana" in await lab.answer(who, **said)
        assert list((tmp_path / "spool").iterdir()) == []
        assert await problems(memory.core.storage, "ana") == []


@pytest.mark.spec("CM-8")
@pytest.mark.parametrize(
    ("language", "greeting", "question"),
    [("pt", "Oi!", "Onde eu moro?"), ("en", "Hello there!", "Where do I live?")],
)
async def test_an_outage_is_told_once_and_no_question_is_answered_wrongly(
    tmp_path: Path, language: str, greeting: str, question: str
) -> None:
    path = tmp_path / "m.db"
    async with spooled(f"sqlite:///{path}", tmp_path) as memory:
        lab = lab_of(memory)
        await lab.say(greeting, language=language)
        async with locked(path, memory):
            assert (await lab.answer(greeting, language=language)).count(AWAY[language]) == 1
            assert AWAY[language] not in await lab.answer(greeting, language=language)
            asked = await lab.answer(question, language=language)
            assert asked.count(AWAY[language]) == 1 and NOTHING_READ[language] in asked
        await arrived(memory)


@pytest.mark.spec("CM-8")
async def test_the_server_is_away_for_a_while(tmp_path: Path) -> None:
    with mongodb_server(tmp_path) as address:
        port = int(address.rpartition(":")[2])
        url = with_database(address, "outage") + "?serverSelectionTimeoutMS=1500"
        async with AsyncExitStack() as stack:
            memory = await stack.enter_async_context(spooled(url, tmp_path))
            lab = lab_of(memory)
            await lab.say("Meu nome é Ana")
            keep = stack.pop_all()
    async with keep:
        assert await lab.answer("Odeio coentro") == LearnedLater().text("pt")
        asked = await lab.answer("Qual é o meu nome?")
        assert "nada pôde ser consultado" in asked and asked.count("\n") == 0
        assert "nada pôde ser consultado" in await lab.answer("/lembrar nome")
        assert "nada pôde ser consultado" in await lab.answer("Esqueça o meu nome")
        with mongodb_server(tmp_path, port):
            await arrived(memory)
            await lab.understand()
            kept, talk = await told(memory)
            assert len(kept) == 2
            assert [message for message, _ in talk] == [
                "Meu nome é Ana",
                "Odeio coentro",
                "Qual é o meu nome?",
                "Esqueça o meu nome",
            ]
            assert "Ana" in await lab.answer("Qual é o meu nome?")
            await keep.aclose()


KILLED = """
import asyncio, os, signal, sqlite3, sys
from pathlib import Path
from support.memories import WordEmbedder, pragma, said, step
from thoughtcycle.memory import Memory

async def main(folder):
    async with Memory.open(f"sqlite:///{folder}/m.db", embeddings=WordEmbedder(), spool=folder / "spool") as memory:
        await pragma(memory, "busy_timeout = 50")
        other = sqlite3.connect(folder / "m.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        cycle = await memory.transcript.open_cycle("ana", "t", said("oi"), parent=None, channel="cli")
        await memory.transcript.append("ana", cycle.id, "e", step("MemorySave"), said("olá", "2", "assistant"))
        await memory.transcript.close_cycle("ana", cycle.id, execution="e", messages=[said("olá", "2", "assistant")], steps=[step()])
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.mark.spec("CM-8", "BY-2")
async def test_killed_while_it_waits_it_arrives_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], env=ENVIRONMENT, timeout=120, check=False
    )
    assert done.returncode == -signal.SIGKILL
    (path,) = (tmp_path / "spool").iterdir()
    waiting = path.read_bytes()
    url = f"sqlite:///{tmp_path}/m.db"
    for _ in range(2):  # the second time as if the first process had died before it could note what arrived
        async with spooled(url, tmp_path) as memory:
            assert not memory.availability.waiting
            assert await told(memory) == ([], [("oi", ["olá"])])
            assert [
                cycle.message.text for cycle in await memory.conversations.pending_cycles("ana", limit=9)
            ] == ["oi"]
            assert await problems(memory.core.storage, "ana") == []
        path.write_bytes(waiting)


@pytest.mark.spec("CM-8")
async def test_explicit_changes_are_refused_until_everything_has_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "FIRST_DELAY", 60)
    path = tmp_path / "m.db"
    async with spooled(f"sqlite:///{path}", tmp_path) as memory:
        drafts = [MemoryDraft(content="Mora em Olinda", key="city"), MemoryDraft(content="Tem um gato")]
        home, cat = [one.record.id for one in await memory.save("ana", drafts)]
        art = MemoryDraft(content="Toca violão", key="art")

        def changes() -> list[Awaitable[object]]:
            return [
                memory.save("ana", [art]),
                memory.update("ana", home, content="Mora em Natal"),
                memory.hide("ana", [cat]),
                memory.erasure.give_up("ana", [cat]),
                memory.undo("ana", home),
                memory.change_settings("ana", paused=True),
            ]

        async with locked(path, memory):
            for waiting in (False, True):  # the first of them finds out
                for change in changes():
                    with pytest.raises(StorageFailed) as refused:
                        await change
                    assert refused.value.code == "memory_away"
                assert memory.availability.waiting == waiting
                if not waiting:
                    await memory.transcript.open_cycle("ana", "t", said("oi"), parent=None, channel="cli")
        assert await told(memory) == (["Mora em Olinda", "Tem um gato"], [])
        await memory.save("ana", [art])  # looks whether it is over
        assert not memory.availability.waiting
        assert "Toca violão" in (await told(memory))[0]
        assert await problems(memory.core.storage, "ana") == []


@pytest.mark.spec("CM-8")
async def test_a_full_spool_refuses_the_turn_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with spooled(f"sqlite:///{path}", tmp_path, limit=100_000) as memory:
        lab = lab_of(memory)
        async with locked(path, memory):
            kept = 0
            for number in range(20):
                answer = await lab.answer(f"{number} {'blá ' * 2_500}")
                if "nada desta mensagem foi guardado" in answer:
                    break
                kept += 1
            assert 0 < kept < 20 and "\n" not in answer
        await arrived(memory)
        _, talk = await told(memory)
        assert len(talk) == kept


async def test_a_full_disk_is_an_outage_too(tmp_path: Path) -> None:
    async with spooled(f"sqlite:///{tmp_path}/m.db", tmp_path) as memory:
        await memory.save("ana", [MemoryDraft(content="Vegetariano")])
        (pages,) = await memory.core.storage.database.read(  # type: ignore[attr-defined]
            lambda db: db.execute("PRAGMA page_count").fetchone(),
        )
        await pragma(memory, f"max_page_count = {pages}")
        for number in range(9):
            text = f"{number} {'x' * 3_000}"
            await memory.transcript.open_cycle("ana", f"t{number}", said(text), parent=None, channel="cli")
        assert memory.availability.waiting
        with pytest.raises(StorageFailed):
            await memory.save("ana", [MemoryDraft(content="x" * 3_000)])
        await pragma(memory, "max_page_count = 100000")
        await arrived(memory)
        assert len(await memory.core.storage.transcript.open_cycles(user="ana")) == 9
        assert len(await memory.list("ana")) == 1


@pytest.mark.spec("CM-8")
async def test_a_chat_that_lost_its_state_goes_on_behind_what_was_kept(tmp_path: Path) -> None:
    """The thread's state of a turn may be lost together with the database: the turn is not abandoned for it."""
    path = tmp_path / "m.db"
    async with spooled(f"sqlite:///{path}", tmp_path) as memory:
        first = await memory.transcript.open_cycle("ana", "t", said("um", "1"), parent=None, channel="cli")
        await memory.transcript.close_cycle("ana", first.id, execution="e", messages=[], steps=[])
        async with locked(path, memory):
            lost = await memory.transcript.open_cycle(
                "ana", "t", said("dois", "2"), parent=first.id, channel="cli"
            )
            await memory.transcript.close_cycle("ana", lost.id, execution="e", messages=[], steps=[step()])
            await spool_of(memory).keep_message("ana", "t", said("dois", "2"), channel="cli")
            await spool_of(memory).keep_message("ana", "t", said("três", "3"), channel="cli")
        await arrived(memory)
        after = await memory.transcript.open_cycle(
            "ana", "t", said("quatro", "4"), parent=first.id, channel="cli"
        )
        await memory.transcript.close_cycle("ana", after.id, execution="e", messages=[], steps=[])
        _, talk = await told(memory)
        assert [message for message, _ in talk] == ["um", "dois", "três", "quatro"]


async def test_somebody_elses_chat_stays_theirs(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with spooled(f"sqlite:///{path}", tmp_path) as memory:
        await memory.transcript.claim_chat("bia", "t")
        async with locked(path, memory):
            cycle = await memory.transcript.open_cycle("ana", "t", said("oi"), parent=None, channel="cli")
            await memory.transcript.close_cycle("ana", cycle.id, execution="e", messages=[], steps=[])
        await arrived(memory)
        assert await memory.conversation("bia", "t") == []
        assert await memory.core.storage.transcript.cycle("ana", cycle.id) is None


@asynccontextmanager
async def session(url: str, folder: Path) -> AsyncIterator[tuple[Session, Saver]]:
    """What `thoughtcycle chat` holds: memory and checkpoints in one database."""
    async with spooled(url, folder) as memory, open_checkpointer(url) as saver:
        bound(memory, saver)
        settings = Settings(db=SecretStr(url), spool=folder / "spool")
        services = Services(memory, RuleMind(), settings.limits, None, "pt")
        context = Context(user_id="ana", channel="cli", language="pt", time_zone="UTC")
        yield Session(Resources(settings, services, saver), context, "t"), saver


async def refused(chat: Session, text: str) -> str:
    with pytest.raises(StorageFailed) as failed:
        await chat.turn(text, PipeDisplay())
    assert failed.value.code == "turn_kept"
    return failed.value.text("pt")


@pytest.mark.spec("CM-8")
async def test_with_the_checkpoints_locked_too_the_message_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.db"
    async with session(f"sqlite:///{path}", tmp_path) as (chat, saver):
        await chat.turn("Oi", PipeDisplay())
        assert isinstance(chat.memory.transcript, SpooledTranscript) and isinstance(saver, SqliteSaver)
        await saver.conn.execute("PRAGMA busy_timeout = 50")
        async with locked(path, chat.memory):
            assert "\n" not in await refused(chat, "Meu nome é Ana")
        assert saver._patience == 50, "what it waits when the file is free again"
        saver._patience = 60_000
        await saver.conn.execute("PRAGMA busy_timeout = 60000")
        await arrived(chat.memory)
        await chat.turn("Odeio coentro", PipeDisplay())
        assert saver._patience is None
        cycles = await chat.memory.conversation("ana", chat.thread, limit=9)
        assert [cycle.message.text for cycle in cycles] == ["Oi", "Meu nome é Ana", "Odeio coentro"]
        await lab_of(chat.memory).understand()
        assert len(await chat.memory.list("ana")) == 2
        capsys.readouterr()
        await chat.turn("Qual é o meu nome?", PipeDisplay())
        assert "Ana" in capsys.readouterr().out


@pytest.mark.spec("CM-8")
async def test_with_the_server_of_the_checkpoints_away_the_message_is_kept(tmp_path: Path) -> None:
    with mongodb_server(tmp_path) as address:
        url = with_database(address, "outage") + "?serverSelectionTimeoutMS=1500"
        async with AsyncExitStack() as stack:
            chat, _ = await stack.enter_async_context(session(url, tmp_path))
            await chat.turn("Oi", PipeDisplay())
            keep = stack.pop_all()
    async with keep:
        assert "\n" not in await refused(chat, "Meu nome é Ana")
        with mongodb_server(tmp_path, int(address.rpartition(":")[2])):
            assert isinstance(chat.memory.transcript, SpooledTranscript)
            await arrived(chat.memory)
            await chat.turn("Odeio coentro", PipeDisplay())
            cycles = await chat.memory.conversation("ana", chat.thread, limit=9)
            assert [cycle.message.text for cycle in cycles] == ["Oi", "Meu nome é Ana", "Odeio coentro"]
            await keep.aclose()


@pytest.mark.spec("CM-8", "BY-4")
async def test_what_waits_of_a_forgotten_user_does_not_arrive(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    url = f"sqlite:///{path}"
    async with spooled(url, tmp_path) as memory, Memory.open(url, embeddings=None) as other:
        await memory.save("ana", [MemoryDraft(content="Vegetariano")])
        async with locked(path, memory):
            for user in ("ana", "bia"):
                cycle = await memory.transcript.open_cycle(
                    user, f"{user}s", said("oi"), parent=None, channel="cli"
                )
                await memory.transcript.close_cycle(user, cycle.id, execution="e", messages=[], steps=[])
        await other.forget_user("ana")
        assert await outage_of(memory).arrive()
        assert not await memory.core.storage.users.traces("ana", [])
        assert len(await memory.conversation("bia", "bias")) == 1
        await memory.transcript.open_cycle("ana", "new", said("oi"), parent=None, channel="cli")
        await memory.save("ana", [MemoryDraft(content="Voltou")])
        assert [record.text for record in await memory.list("ana")] == ["Voltou"]


@pytest.mark.spec("BY-10", "CM-8")
@pytest.mark.parametrize("paused", [False, True])
async def test_of_what_was_said_in_an_outage_nothing_is_learned_while_paused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paused: bool
) -> None:
    path = tmp_path / "m.db"
    monkeypatch.setattr(outage, "FIRST_DELAY", 60)
    async with spooled(f"sqlite:///{path}", tmp_path) as memory:
        await memory.change_settings("ana", paused=paused)
        async with locked(path, memory):
            cycle = await memory.transcript.open_cycle(
                "ana", "t", said("um", "1"), parent=None, channel="cli"
            )
            await memory.transcript.close_cycle("ana", cycle.id, execution="e", messages=[], steps=[])
        assert await outage_of(memory).arrive()
        assert len(await memory.conversations.pending_cycles("ana", limit=9)) == (not paused)
        assert len(await memory.conversation("ana", "t", limit=9)) == 1


@pytest.mark.spec("BY-10", "CM-8")
@pytest.mark.parametrize("context", [{}, {"incognito": True}], ids=["paused", "incognito"])
async def test_whose_message_is_not_learned_from_is_promised_nothing(
    tmp_path: Path, context: dict[str, bool]
) -> None:
    path = tmp_path / "m.db"
    async with spooled(f"sqlite:///{path}", tmp_path) as memory:
        lab = lab_of(memory)
        await lab.say("Odeio coentro")
        await memory.change_settings("ana", paused=not context)
        async with locked(path, memory):
            message = "Apague que odeio coentro" if context else "Guarde que adoro chá"
            answer = await lab.answer(message, **context)
            assert answer.endswith(MemoryAway().text("pt"))
            assert answer.count(AWAY["pt"]) == 1


@pytest.mark.spec("CM-8")
@pytest.mark.parametrize(("learned", "code"), [(True, "learned_later"), (False, "memory_away")])
async def test_the_tools_refuse_in_one_line(tmp_path: Path, learned: bool, code: str) -> None:
    path = tmp_path / "m.db"
    async with spooled(f"sqlite:///{path}", tmp_path) as memory:
        desk = ToolService("pt", Limits())
        async with locked(path, memory):
            with pytest.raises(ToolRefused) as refused:
                await desk.answer(desk.save, memory, ToolRequest("ana", learned=learned), content="Adora chá")
        assert str(refused.value) == StorageFailed(code).text("pt")
        assert await memory.list("ana") == []


@pytest.mark.spec("CM-8")
async def test_while_the_database_is_away_preferences_are_empty_and_settings_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "FIRST_DELAY", 60)
    async with spooled(f"sqlite:///{tmp_path}/m.db", tmp_path) as memory:
        await memory.change_settings("ana", smart_context=True, language="en")

        async def away(*_: object, **__: object) -> None:
            raise StorageUnavailable("m.db")

        with monkeypatch.context() as broken:
            for name in ("settings", "find"):
                broken.setattr(memory.core.storage.documents, name, away)
            broken.setattr(memory.core.storage, "glimpse", lambda _: None)
            broken.setattr(outage.Outage, "_own_connection", asynccontextmanager(opening_fails))
            for _ in range(2):
                assert (await memory.conversations.preferences("ana")).language is None
                with pytest.raises(StorageFailed) as refused:
                    await memory.change_settings("ana", smart_context=False)
                assert refused.value.code == "memory_away"
                assert memory.availability.unreadable
            answer = await lab_of(memory).answer("Meu nome é Ana")
            assert answer == LearnedLater().text("pt")
        assert await outage_of(memory).arrive()
        assert (await memory.sheets("ana", "t")).settings.smart_context
        assert (await memory.conversations.preferences("ana")).language == "en"
