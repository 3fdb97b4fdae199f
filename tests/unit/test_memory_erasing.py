"""Deleting in two stages: hidden by every path and brought back, or erased for good, to the last word."""

import json
import sqlite3
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from support.engines import memory as memory  # the fixture
from support.left import left_of
from support.memories import Clock, WordEmbedder, hidden, said, step
from thoughtcycle.errors import InputRefused, NotAllowed, StorageFailed, StorageLocked
from thoughtcycle.memory.erasure.service import LOOKS, Receipt
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, MemoryDraft, MemoryRecord, Source, Tombstone
from thoughtcycle.memory.redaction import fingerprint as erasure
from thoughtcycle.memory.redaction.redactor import Mask
from thoughtcycle.memory.text.analyzer import digest
from thoughtcycle.memory.text.spans import HIDDEN, Tokens
from thoughtcycle.memory.transfer.import_own import Imported

NAME = MemoryDraft(content="Nome: Pedro", key="name", bindings=("nome", "Pedro"))


async def talk(memory: Memory, text: str, reply: str, *found: str, user: str = "ana") -> Cycle:
    """A closed cycle of the chat, in which these memories were shown."""
    message = said(text, f"m{digest(text)}").model_copy(update={"at": memory.core.clock()})
    cycle = await memory.transcript.open_cycle(
        user, f"chat-{user}", message, parent=None, follow=True, channel="cli"
    )
    answer = said(reply, f"r{digest(text)}", "assistant")
    steps = [{**step("MemorySearch"), "found": list(found), "input": ["nome"]}]
    return await memory.transcript.close_cycle(user, cycle.id, execution="e", messages=[answer], steps=steps)  # type: ignore[arg-type]


async def introduced(memory: Memory, user: str = "ana") -> MemoryRecord:
    """Somebody says who he is; it is kept and used, and something else too."""
    first = await talk(memory, "Oi, meu nome é Pedro e moro em Natal", "Prazer, Pedro! Anotado.", user=user)
    source = Source(cycle=first.id, words="meu nome é Pedro")
    whole = Source(cycle=first.id, words="meu nome é Pedro e moro em Natal")
    drafts = [
        NAME.model_copy(update={"source": source}),
        MemoryDraft(content="Mora em Natal", key="home", source=whole),
    ]
    saved = await memory.save(user, drafts)
    await talk(memory, "Quem sou eu?", "Você é o Pedro. Mais algo?", saved[0].record.id, user=user)
    await talk(memory, "Gosto de praia", "Que bom, pedro!", user=user)
    return saved[0].record


async def said_so_far(memory: Memory, user: str = "ana") -> list[str]:
    cycles = await memory.conversation(user, f"chat-{user}", limit=9)
    return [one.text for cycle in cycles for one in (cycle.message, *cycle.replies)]


MASKED = [
    f"Oi, {HIDDEN} e moro em Natal",
    f"{HIDDEN} Anotado.",
    "Quem sou eu?",
    f"{HIDDEN} Mais algo?",
    "Gosto de praia",
    f"Que bom, {HIDDEN}!",
]


async def found(memory: Memory, query: str = "Pedro") -> list[str]:
    hits = await memory.search("ana", query, limit=20, include=("facts", "cycles"))
    return [hit.record.text if hasattr(hit, "record") else hit.text for hit in hits]


@pytest.mark.spec("BY-9", "TC-11")
async def test_what_is_hidden_is_read_nowhere_and_comes_back(memory: Memory) -> None:
    record = await introduced(memory)
    before = await said_so_far(memory)
    assert any("Pedro" in text for text in await found(memory))
    await memory.hide("ana", [record.id])
    assert await said_so_far(memory) == MASKED
    for query in ("Pedro", "quem eu sou nome", "praia"):
        assert not [text for text in await found(memory, query) if "pedro" in text.casefold()]
    cycle = (await memory.core.storage.transcript.cycle_feed("ana", 0, model=None)).cycles[0]
    assert "Pedro" in cycle.message.text
    assert (await memory.erasure.masked_cycle("ana", cycle)).message.text == MASKED[0]
    assert (await memory.erasure.mask("ana")).text("O PEDRO veio") == f"O {HIDDEN} veio"
    assert not await memory.erasure.mask("bia")
    await memory.undo("ana", record.id)
    assert await said_so_far(memory) == before
    assert any("Pedro" in text for text in await found(memory))


@pytest.mark.spec("BY-9")
async def test_what_is_said_again_after_hiding_is_read(memory: Memory) -> None:
    record = await introduced(memory)
    await memory.hide("ana", [record.id])
    await talk(memory, "Aliás, meu nome é Pedro", "Certo, Pedro!")
    texts = await said_so_far(memory)
    assert texts[:6] == MASKED
    assert texts[6] == "Aliás, meu nome é Pedro"


@pytest.mark.spec("BY-9")
async def test_what_is_erased_is_nowhere(memory: Memory) -> None:
    record = await introduced(memory)
    await introduced(memory, "bia")
    await memory.update("ana", record.id, content="Nome: Pedro Paulo", words="sou o Pedro Paulo")
    await memory.update("ana", record.id, content="Nome: Pedrão", correction=True)
    await memory.undo("ana", record.id)
    receipt = await memory.erase("ana", [record.id])
    assert (receipt.memories, receipt.cycles, receipt.sources, receipt.left) == (1, 3, 1, ())
    assert receipt.versions >= 1 and receipt.journal >= 3
    assert await left_of(memory, "ana", ["Pedro", "Paulo", "Pedrão"]) == []
    assert await left_of(memory, "bia", ["Pedro"]) != []
    assert await said_so_far(memory) == MASKED
    assert await found(memory, "Pedro Paulo") == []
    (stub,) = [one for one in [await memory.get("ana", record.id)] if one is not None]
    assert (stub.status, stub.content, stub.source.words) == ("erased", None, "")
    assert {entry.before for entry in await memory.history("ana", record.id)} == {None}
    assert [one.text for one in await memory.list("ana")] == ["Mora em Natal"]
    for language in ("pt", "en"):
        assert "LangSmith" in receipt.text(language)  # type: ignore[arg-type]
        assert ".langgraph_api" in receipt.text(language)  # type: ignore[arg-type]


@pytest.mark.spec("BY-9")
async def test_nothing_brings_back_what_was_erased(memory: Memory) -> None:
    record = await introduced(memory)
    await memory.hide("ana", [record.id])
    await memory.erasure.give_up("ana", [record.id])
    for _ in range(2):
        with pytest.raises(InputRefused) as refused:
            await memory.undo("ana", record.id)
        assert refused.value.code == "memory_erased"
        assert "\n" not in refused.value.text("pt")
        await memory.erase("ana", [record.id])
    while (result := await memory.undo("ana")).undone is not None:
        assert result.undone.memory != record.id
    with pytest.raises(NotAllowed):
        await memory.erase("bia", [record.id])
    with pytest.raises(NotAllowed):
        await memory.erase("ana", [record.id, "unknown"])
    assert await memory.erase("ana", [record.id]) == Receipt(user="ana")


@pytest.mark.spec("BY-9")
async def test_after_the_grace_period_the_deleted_is_erased(memory: Memory) -> None:
    record, other = await introduced(memory), await introduced(memory, "bia")
    await memory.hide("ana", [record.id])
    hidden_at = (await hidden(memory, "ana"))[0].updated
    assert await memory.erase_due(now=hidden_at + timedelta(hours=23)) == []
    assert len(await hidden(memory, "ana")) == 1
    (receipt,) = await memory.erase_due(now=hidden_at + timedelta(hours=24))
    assert (receipt.user, receipt.memories) == ("ana", 1)
    assert await left_of(memory, "ana", ["Pedro"]) == []
    await memory.hide("bia", [other.id])
    assert await memory.erase_due(timedelta(0), user="ana") == []
    assert [one.user for one in await memory.erase_due(timedelta(0))] == ["bia"]
    assert await memory.erase_due(timedelta(0)) == []


@pytest.mark.spec("BY-9")
async def test_abandoned_and_undone_memories_are_not_due(memory: Memory) -> None:
    record = await introduced(memory)
    await memory.hide("ana", [record.id], reason="abandoned")
    await memory.undo("ana", (await memory.list("ana"))[0].id)
    assert await memory.erase_due(timedelta(0)) == []


@pytest.mark.spec("BY-9")
async def test_old_words_are_not_learned_again_and_new_ones_are(memory: Memory) -> None:
    record = await introduced(memory)
    (old, *_) = await memory.conversation("ana", "chat-ana", limit=9)
    await memory.erase("ana", [record.id])

    async def learn(content: str, cycle: str | None, words: str = "") -> list[str]:
        draft = MemoryDraft(content=content, source=Source(cycle=cycle, words=words))
        saved = await memory.save("ana", [draft, MemoryDraft(content="Toca flauta")])
        assert saved[1].record.text == "Toca flauta"
        return [saved[0].outcome, saved[0].record.status]

    assert await learn("Nome: Pedro", old.id) == ["erased", "erased"]
    assert await learn("O usuário é o PEDRO", old.id) == ["erased", "erased"]
    assert await learn("É homem", "a cycle not there yet", "meu nome é pedro!") == ["erased", "erased"]
    assert await learn("Mora em Natal", old.id) == ["known", "active"]
    assert [one.text for one in await memory.list("ana")] == ["Toca flauta", "Mora em Natal"]
    anew = await talk(memory, "Meu nome é Pedro", "Certo.")
    assert await learn("Nome: Pedro", anew.id) == ["saved", "active"]
    assert await learn("Se chama Pedro", None) == ["saved", "active"]
    (stone,) = await memory.core.storage.erasure.tombstones("ana")
    assert stone.span == (4, 20)
    assert "edro" not in stone.model_dump_json()


@pytest.mark.spec("BY-9")
async def test_what_is_hidden_is_not_learned_again_from_old_words(memory: Memory) -> None:
    record = await introduced(memory)
    (old, *_) = await memory.conversation("ana", "chat-ana", limit=9)
    await memory.hide("ana", [record.id])
    draft = MemoryDraft(content="Se chama Pedro", source=Source(cycle=old.id))
    (again,) = await memory.save("ana", [draft])
    assert (again.outcome, again.record.id, again.record.status) == ("known", record.id, "hidden")
    message = said("Esqueça Pedro, me chame de Pedro Paulo", "x").model_copy(update={"at": old.message.at})
    now = await memory.transcript.open_cycle(
        "ana", "chat-ana", message, parent=None, follow=True, channel="cli"
    )
    (new,) = await memory.save("ana", [draft.model_copy(update={"source": Source(cycle=now.id)})])
    assert new.outcome == "saved"


@pytest.mark.spec("BY-9", "BY-4")
async def test_an_export_made_before_brings_nothing_back(memory: Memory, tmp_path: Path) -> None:
    record = await introduced(memory)
    await memory.hide("ana", [record.id])
    await memory.undo("ana", record.id)
    path = tmp_path / "ana.jsonl"
    path.write_text(
        "".join(f"{json.dumps(line)}\n" for line in [line async for line in memory.export("ana")])
    )
    assert "Pedro" in path.read_text()
    await memory.erase("ana", [record.id])
    assert await memory.import_file("ana", path) == Imported()
    assert await left_of(memory, "ana", ["Pedro"]) == []


@pytest.mark.spec("BY-9")
async def test_an_export_holds_nothing_of_what_is_hidden(memory: Memory) -> None:
    record = await introduced(memory)
    await memory.hide("ana", [record.id])
    assert "pedro" not in json.dumps([line async for line in memory.export("ana")]).casefold()


@pytest.mark.spec("BY-9", "HM-6")
async def test_a_merged_memory_is_erased_with_what_it_became(memory: Memory) -> None:
    record = await introduced(memory)
    (other,) = await memory.save(
        "ana", [MemoryDraft(content="Se chama Pedro", bindings=("apelido", "Pedrinho"))]
    )
    await memory.merge("ana", record.id, other.record.id)
    receipt = await memory.erase("ana", [other.record.id])
    assert (receipt.memories, receipt.versions, receipt.left) == (1, 1, ())
    assert await left_of(memory, "ana", ["Pedro", "Pedrinho"]) == []
    assert [one.text for one in await memory.list("ana")] == ["Mora em Natal"]


@pytest.mark.spec("BY-9")
async def test_another_memory_keeps_its_content_and_loses_foreign_search_keys(memory: Memory) -> None:
    record = await introduced(memory)
    draft = MemoryDraft(
        content="Gosta de futebol", bindings=("esporte", "Pedro joga"), source=Source(words="Pedro joga")
    )
    (kept,) = await memory.save("ana", [draft])
    await memory.archive("ana", [kept.record.id])
    await memory.restore("ana", [kept.record.id])
    await memory.erase("ana", [record.id])
    after = await memory.get("ana", kept.record.id)
    assert after is not None
    assert (after.content, after.bindings, after.source.words) == (
        "Gosta de futebol",
        ("esporte",),
        f"{HIDDEN} joga",
    )
    assert await left_of(memory, "ana", ["Pedro"]) == []
    assert [hit.record.id for hit in await memory.search("ana", "esporte")] == [after.id]
    await memory.undo("ana", after.id)


@pytest.mark.spec("BY-9")
async def test_a_title_loses_the_words_too(memory: Memory) -> None:
    record = await introduced(memory)
    await memory.core.storage.chats.rename("ana", "chat-ana", "Conversa com Pedro")
    await memory.hide("ana", [record.id])
    assert [chat.title for chat in await memory.chats("ana")] == [f"Conversa com {HIDDEN}"]
    await memory.undo("ana")
    assert [chat.title for chat in await memory.chats("ana")] == ["Conversa com Pedro"]
    await memory.erase("ana", [record.id])
    (chat,) = await memory.core.storage.chats.conversations("ana", after=None, limit=9)
    assert chat.title == f"Conversa com {HIDDEN}"


@pytest.mark.spec("BY-9")
@pytest.mark.parametrize(("late", "left"), [(0, ()), (1, ()), (LOOKS, ("checkpoints",))])
async def test_other_places_are_redacted_before_the_documents(
    memory: Memory, late: int, left: tuple[str, ...]
) -> None:
    record = await introduced(memory)
    seen: list[tuple[str, Sequence[str], str]] = []

    async def place(user: str, chats: Sequence[str], mask: Mask) -> int:
        kept = await memory.get(user, record.id)
        assert kept is not None
        seen.append((user, chats, f"{kept.status} {mask.text('Pedro')}"))
        return 2 if len(seen) <= 1 + late else 0  # what turns under way store comes again so often

    memory.erasure.erase_also(place)
    receipt = await memory.erase("ana", [record.id])
    again = [("ana", ["chat-ana"], f"erased {HIDDEN}")] * min(late + 1, LOOKS)
    assert seen == [("ana", ["chat-ana"], f"hidden {HIDDEN}"), *again]
    assert (receipt.elsewhere, receipt.left) == (2, left)


@pytest.mark.spec("BY-9")
async def test_a_sqlite_file_holds_nothing_of_what_was_erased(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    url = f"sqlite:///{path}"
    async with Memory.open(url, embeddings=WordEmbedder(), clock=Clock()) as memory:
        record = await introduced(memory)
        await found(memory)
        await memory.update("ana", record.id, content="Nome: Pedro Paulo")
        files = [path, path.with_name("m.db-wal")]
        assert any(b"Pedro" in file.read_bytes() for file in files)
        await memory.erase("ana", [record.id])
        assert not [file.name for file in files if b"edro" in file.read_bytes()]
    assert b"edro" not in path.read_bytes()
    with sqlite3.connect(path) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [repr(row) for table in tables for row in connection.execute(f"SELECT * FROM {table}")]
    connection.close()
    assert not [row for row in rows if "edro" in row]


@pytest.mark.spec("BY-9")
async def test_an_old_reader_does_not_stop_an_erasure(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with Memory.open(f"sqlite:///{path}", embeddings=None, clock=Clock()) as memory:
        record = await introduced(memory)
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memories").fetchone()
        assert (await memory.erase("ana", [record.id])).left == ()
        reader.execute("COMMIT")
        reader.close()
        await memory.erase_due()
        assert not [file for file in path.parent.iterdir() if b"edro" in file.read_bytes()]


@pytest.mark.spec("BY-9")
@pytest.mark.parametrize("due", [False, True])
async def test_a_turn_under_way_does_not_write_back_what_is_erased(memory: Memory, due: bool) -> None:
    (saved,) = await memory.save("ana", [MemoryDraft(content="Cachorro: Zarquon")])
    message = said("Como se chama meu cachorro?", "q").model_copy(update={"at": memory.core.clock()})
    cycle = await memory.transcript.open_cycle("ana", "b", message, parent=None, channel="cli")
    if due:
        await memory.hide("ana", [saved.record.id])
        (receipt,) = await memory.erase_due(timedelta(0))
    else:
        receipt = await memory.erase("ana", [saved.record.id])
    assert (receipt.memories, receipt.waiting) == (0, 1)
    for language in ("pt", "en"):
        assert len(receipt.text(language).splitlines()) == 3  # type: ignore[arg-type]
    answer = said("Seu cachorro é o Zarquon.", "a", "assistant").model_copy(
        update={"at": memory.core.clock()}
    )
    await memory.transcript.close_cycle("ana", cycle.id, execution="e", messages=[answer], steps=[])
    assert "Zarquon" not in repr(await memory.conversation("ana", "b"))
    (receipt,) = await memory.erase_due()
    assert (receipt.memories, receipt.waiting, receipt.left) == (1, 0, ())
    assert await left_of(memory, "ana", ["Zarquon"]) == []


@pytest.mark.spec("BY-9")
async def test_one_users_failure_stops_nobody_elses_erasure(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for user in ("ana", "bia"):
        (saved,) = await memory.save(user, [MemoryDraft(content="Nome: Pedro")])
        await memory.hide(user, [saved.record.id])
    rewritten = memory.core.storage.erasure.bury

    async def bury(user: str, tombstones: Sequence[Tombstone]) -> None:
        if user == "ana":
            raise StorageLocked("Pedro")
        await rewritten(user, tombstones)

    monkeypatch.setattr(memory.core.storage.erasure, "bury", bury)
    assert [receipt.user for receipt in await memory.erase_due(timedelta(0))] == ["bia"]
    assert "storage_locked" in caplog.text
    assert "Pedro" not in caplog.text
    with pytest.raises(StorageFailed):
        await memory.erase_due(timedelta(0), user="ana")
    monkeypatch.undo()
    assert [receipt.user for receipt in await memory.erase_due(timedelta(0))] == ["ana"]


@pytest.mark.spec("BY-9")
async def test_a_value_that_was_corrected_is_hidden_with_the_memory(memory: Memory) -> None:
    cycle = await talk(memory, "Meu código é 81234", "Anotei 81234.")
    draft = MemoryDraft(content="Código: 81234", source=Source(cycle=cycle.id, words="Meu código é 81234"))
    (saved,) = await memory.save("ana", [draft])
    await memory.update("ana", saved.record.id, content="Código: 95678", correction=True, words="é 95678")
    await talk(memory, "Era 81234 antes?", "Sim, 81234.")
    await memory.hide("ana", [saved.record.id])
    assert not [text for text in await said_so_far(memory) if "81234" in text or "95678" in text]


@pytest.mark.spec("BY-9")
async def test_masks_read_no_document_while_nothing_changes(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = await introduced(memory)
    await memory.hide("ana", [record.id])
    first = await memory.erasure.mask("ana")
    reads: list[str | None] = []
    hidden = memory.core.storage.erasure.hidden

    async def counted(space: str | None = None) -> list[MemoryRecord]:
        reads.append(space)
        return await hidden(space)

    monkeypatch.setattr(memory.core.storage.erasure, "hidden", counted)
    assert await memory.erasure.mask("ana") is first
    assert await memory.erasure.final_mask("ana") == Mask()
    assert reads == []
    await memory.erasure.give_up("ana", [record.id])
    assert (await memory.erasure.final_mask("ana")).memories == {record.id}
    assert reads == ["ana"]
    assert await memory.erasure.mask("bia") == Mask()


@pytest.mark.spec("BY-9")
async def test_the_loop_goes_on_while_words_are_looked_for(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = await introduced(memory)
    loop = threading.get_ident()
    masked: list[bool] = []
    cycle, tokens = Mask.cycle, erasure.tokens

    def masking(self: Mask, one: Cycle) -> Cycle:
        masked.append(threading.get_ident() == loop)
        return cycle(self, one)

    def tracing(text: str) -> Tokens:
        masked.append(threading.get_ident() == loop)
        return tokens(text)

    async def amend(user: str, id: str, change: Callable[[Cycle], Cycle], *, tip: bool = False) -> None:
        """Leaves it: the storage masks one cycle at a time."""

    monkeypatch.setattr(Mask, "cycle", masking)
    monkeypatch.setattr(erasure, "tokens", tracing)
    monkeypatch.setattr(memory.core.storage.transcript, "amend_cycle", amend)
    assert (await memory.erase("ana", [record.id])).left == ("transcript",)
    assert masked and not any(masked)
