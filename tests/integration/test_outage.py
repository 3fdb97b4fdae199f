"""The database is away, locked or full: replies go on, what was said arrives later, once, and nobody is told lies."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from support.child import ENVIRONMENT
from support.graphs import Lab
from support.memories import WordEmbedder, pragma, said, step
from support.mongo import mongodb_server, with_database
from thoughtcycle.cli.chat import Session
from thoughtcycle.cli.display import PipeDisplay
from thoughtcycle.graph.checkpoints.factory import Saver, open_checkpointer
from thoughtcycle.graph.checkpoints.sqlite import SqliteSaver
from thoughtcycle.graph.erasing import bound
from thoughtcycle.graph.resources import Resources
from thoughtcycle.graph.settings import Settings
from thoughtcycle.graph.thought_cycle import create_thought_cycle
from thoughtcycle.memory import outage
from thoughtcycle.memory.doctor import problems
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.outage import SpooledMemory, open_spooled
from thoughtcycle.memory.records import MemoryDraft, Source
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.context import Context
from thoughtcycle.nodes.services import Services
from thoughtcycle.prompts.errors import StorageFailed

AWAY = {"pt": "A memória está fora de alcance agora", "en": "Memory is out of reach right now"}

NOTHING_READ = {"pt": "nada pôde ser consultado", "en": "nothing could be looked up"}

LOCK = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.readline()
"""


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
async def spooled(url: str, folder: Path, limit: int = 1_000_000) -> AsyncIterator[SpooledMemory]:
    async with open_spooled(url, embeddings=WordEmbedder(), folder=folder / "spool", limit=limit) as memory:
        yield memory


def lab_of(memory: Memory) -> Lab:
    saver = InMemorySaver()
    return Lab(
        create_thought_cycle(memory=memory, mind=RuleMind(), checkpointer=saver), memory, RuleMind(), saver
    )


async def arrived(memory: SpooledMemory) -> None:
    """Waits until nothing waits any more."""
    async with asyncio.timeout(120):
        while memory._spool.pending or memory.unreadable:
            await asyncio.sleep(0.02)
    assert await problems(memory._storage, "ana") == []


async def told(memory: Memory) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The active memories, and the live branch of the chat: message and replies of each cycle."""
    cycles = await memory.conversation("ana", "t", limit=9)
    talk = [(cycle.message.text, [reply.text for reply in cycle.replies]) for cycle in cycles]
    return sorted(record.text for record in await memory.list("ana")), talk


@pytest.mark.spec("CM-8")
@pytest.mark.parametrize(("language", "name"), [("pt", "Meu nome é Ana"), ("en", "My name is Ana")])
async def test_a_locked_file_does_not_stop_the_talk(tmp_path: Path, language: str, name: str) -> None:
    path = tmp_path / "m.db"
    async with spooled(f"sqlite:///{path}", tmp_path) as memory:
        lab = lab_of(memory)
        assert "Ana" not in await lab.answer("Oi!" if language == "pt" else "Hello there!", language=language)
        async with locked(path, memory):
            first = await lab.answer(name, language=language)
            assert "Ana" in first and first.count(AWAY[language]) == 1
            assert AWAY[language] not in await lab.answer("Odeio coentro", language=language)
            asked = await lab.answer(
                "Onde eu moro?" if language == "pt" else "Where do I live?", language=language
            )
            assert NOTHING_READ[language] in asked
            assert await memory.list("ana") == []
        await arrived(memory)
        kept, talk = await told(memory)
        assert len(kept) == 2
        assert [message for message, _ in talk][1:3] == [name, "Odeio coentro"]
        assert " ".join(talk[1][1]) in first
        assert "Ana" in await lab.answer(
            "Qual é o meu nome?" if language == "pt" else "What is my name?", language=language
        )
        assert list((tmp_path / "spool").iterdir()) == []
        assert len(await memory._storage.journal("ana")) == 2


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
        away = await lab.answer("Odeio coentro")
        assert AWAY["pt"] in away and "coentro" in away
        asked = await lab.answer("Qual é o meu nome?")
        assert "nada pôde ser consultado" in asked and asked.count("\n") == 0
        assert "nada pôde ser consultado" in await lab.answer("/lembrar nome")
        assert "nada pôde ser consultado" in await lab.answer("Esqueça o meu nome")
        with mongodb_server(tmp_path, port):
            await arrived(memory)
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
from thoughtcycle.memory.outage import open_spooled
from thoughtcycle.memory.records import MemoryDraft, Source

async def main(folder):
    async with open_spooled(f"sqlite:///{folder}/m.db", embeddings=WordEmbedder(), folder=folder / "spool") as memory:
        await pragma(memory, "busy_timeout = 50")
        other = sqlite3.connect(folder / "m.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        cycle = await memory.open_cycle("ana", "t", said("oi"), parent=None, channel="cli")
        draft = MemoryDraft(content="Odeia coentro", bindings=("comida",), source=Source(cycle=cycle.id))
        await memory.save("ana", [draft, MemoryDraft(content="Mora em Recife", key="city")])
        await memory.append("ana", cycle.id, "e", step("MemorySave"), said("guardei", "2", "assistant"))
        await memory.close_cycle("ana", cycle.id, execution="e", messages=[said("guardei", "2", "assistant")], steps=[step()])
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
            assert not memory._spool.pending
            assert await told(memory) == (["Mora em Recife", "Odeia coentro"], [("oi", ["guardei"])])
            assert len(await memory._storage.journal("ana")) == 2
            (hit,) = await memory.search("ana", "comida", limit=1)
            assert hit.record.text == "Odeia coentro"
            assert await problems(memory._storage, "ana") == []
        path.write_bytes(waiting)


@pytest.mark.spec("CM-8")
async def test_newer_words_are_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "FIRST_DELAY", 60)
    path = tmp_path / "m.db"
    url = f"sqlite:///{path}"
    city = MemoryDraft(content="Mora em Olinda", key="city")
    async with spooled(url, tmp_path) as memory, Memory.open(url, embeddings=None) as other:
        saved = await memory.save(
            "ana", [city, MemoryDraft(content="Tem um gato"), MemoryDraft(content="Joga xadrez")]
        )
        ids = [one.record.id for one in saved]
        async with locked(path, memory):
            for later in (
                memory.update("ana", ids[1], content="Tem dois gatos"),
                memory.update("ana", ids[2], content="Joga damas", key="game"),
                memory.hide("ana", [ids[0]]),
            ):
                with pytest.raises(StorageFailed) as waits:
                    await later
                assert waits.value.code == "memory_later"
            await memory.save("ana", [MemoryDraft(content="Toca violão", key="art")])
        await other.update("ana", ids[0], content="Mora em Natal")
        await other.update("ana", ids[1], content="Tem três gatos")
        await other.save("ana", [MemoryDraft(content="Toca piano", key="art")])
        assert await memory._try()
        assert await told(memory) == (["Joga damas", "Mora em Natal", "Tem três gatos", "Toca piano"], [])
        (moved,) = [record for record in await memory.list("ana") if record.text == "Joga damas"]
        assert moved.key == "game"
        hidden = await memory.list("ana", statuses=("hidden",))
        assert [record.text for record in hidden] == ["Mora em Olinda"]
        assert await problems(memory._storage, "ana") == []


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
        (pages,) = await memory._storage._run(  # type: ignore[attr-defined]
            "DEFERRED",
            lambda: memory._storage._connection.execute("PRAGMA page_count").fetchone(),  # type: ignore[attr-defined]
        )
        await pragma(memory, f"max_page_count = {pages}")
        for number in range(9):
            await memory.save("ana", [MemoryDraft(content=f"{number} {'x' * 3_000}")])
        assert memory._spool.pending
        await pragma(memory, "max_page_count = 100000")
        await arrived(memory)
        assert len(await memory.list("ana")) == 10


@pytest.mark.spec("CM-8")
async def test_a_chat_that_lost_its_state_goes_on_behind_what_was_kept(tmp_path: Path) -> None:
    """The thread's state of a turn may be lost together with the database: the turn is not abandoned for it."""
    path = tmp_path / "m.db"
    async with spooled(f"sqlite:///{path}", tmp_path) as memory:
        first = await memory.open_cycle("ana", "t", said("um", "1"), parent=None, channel="cli")
        await memory.close_cycle("ana", first.id, execution="e", messages=[], steps=[])
        async with locked(path, memory):
            lost = await memory.open_cycle("ana", "t", said("dois", "2"), parent=first.id, channel="cli")
            await memory.save("ana", [MemoryDraft(content="Toca violão", source=Source(cycle=lost.id))])
            await memory.close_cycle("ana", lost.id, execution="e", messages=[], steps=[step()])
            await memory.keep_message("ana", "t", said("dois", "2"), channel="cli")
            await memory.keep_message("ana", "t", said("três", "3"), channel="cli")
        await arrived(memory)
        after = await memory.open_cycle("ana", "t", said("quatro", "4"), parent=first.id, channel="cli")
        await memory.close_cycle("ana", after.id, execution="e", messages=[], steps=[])
        kept, talk = await told(memory)
        assert kept == ["Toca violão"]
        assert [message for message, _ in talk] == ["um", "dois", "três", "quatro"]


async def test_somebody_elses_chat_stays_theirs(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with spooled(f"sqlite:///{path}", tmp_path) as memory:
        await memory.claim_chat("bia", "t")
        async with locked(path, memory):
            cycle = await memory.open_cycle("ana", "t", said("oi"), parent=None, channel="cli")
            await memory.close_cycle("ana", cycle.id, execution="e", messages=[], steps=[])
        await arrived(memory)
        assert await memory.conversation("bia", "t") == []
        assert await memory._storage.cycle("ana", cycle.id) is None


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
        assert isinstance(chat.memory, SpooledMemory) and isinstance(saver, SqliteSaver)
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
            assert isinstance(chat.memory, SpooledMemory)
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
                cycle = await memory.open_cycle(user, f"{user}s", said("oi"), parent=None, channel="cli")
                draft = MemoryDraft(content="Toca violão", source=Source(cycle=cycle.id))
                await memory.save(user, [draft])
                await memory.close_cycle(user, cycle.id, execution="e", messages=[], steps=[])
        await other.forget_user("ana")
        assert await memory._try()
        assert not await memory._storage.traces("ana", [])
        assert [record.text for record in await memory.list("bia")] == ["Toca violão"]
        await memory.open_cycle("ana", "new", said("oi"), parent=None, channel="cli")
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
            cycle = await memory.open_cycle("ana", "t", said("um", "1"), parent=None, channel="cli")
            await memory.close_cycle("ana", cycle.id, execution="e", messages=[], steps=[])
        assert await memory._try()
        assert len(await memory.pending_cycles("ana", limit=9)) == (not paused)
        assert len(await memory.conversation("ana", "t", limit=9)) == 1


@pytest.mark.spec("CM-8")
async def test_while_the_database_is_away_sheets_are_empty_and_settings_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "FIRST_DELAY", 60)
    async with spooled(f"sqlite:///{tmp_path}/m.db", tmp_path) as memory:
        await memory.change_settings("ana", smart_context=True)

        async def away(*_: object, **__: object) -> None:
            raise StorageFailed("storage_unavailable", place="m.db")

        with monkeypatch.context() as broken:
            broken.setattr(memory._storage, "sheets", away)
            for _ in range(2):
                seen = await memory.sheets("ana", "t")
                assert seen.conversation is not None and seen.conversation.revision == 0
                assert (seen.profile.entries, seen.settings.smart_context) == ((), None)
                with pytest.raises(StorageFailed) as refused:
                    await memory.change_settings("ana", smart_context=False)
                assert refused.value.code == "memory_away"
                assert memory.unreadable
        assert await memory._try()
        assert (await memory.sheets("ana", "t")).settings.smart_context
