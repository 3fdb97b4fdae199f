"""A file is a memory like any other: found, changed, hidden, erased, exported, forgotten (LM-15)."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from support.attached import docx, pdf, png, refused
from support.engines import memory as memory  # the fixture
from support.left import left_of
from support.memories import Clock, WordEmbedder, said, step
from thoughtcycle.errors import InputRefused, ModelTransient, NotAllowed, StorageFailed
from thoughtcycle.integrations.tool_service import ToolRequest, ToolService
from thoughtcycle.memory.maintenance.doctor import issues
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.attachment import file_of
from thoughtcycle.memory.model.records import MemoryDraft, Source
from thoughtcycle.memory.storage.sqlite.storage import SqliteStorage
from thoughtcycle.memory.text.spans import HIDDEN
from thoughtcycle.memory.transfer import format as export_format
from thoughtcycle.memory.transfer.backup import backup, restore
from thoughtcycle.nodes.base.limits import Limits

pytestmark = pytest.mark.spec("LM-15")

LEASE = "O aluguel vence todo dia cinco de cada mês. O fiador chama-se Anselmo Tavares.".encode()


async def test_a_document_is_found_by_its_text_and_gives_its_bytes(memory: Memory) -> None:
    kept = await memory.attach("ana", "contrato.txt", LEASE, caption="meu contrato")
    assert (kept.type, kept.text, kept.layer) == ("document", "contrato.txt: meu contrato", "long")
    assert kept.content["characters"] == len(LEASE.decode()) and kept.content["complete"]
    (hit,) = await memory.search("ana", "quem é o fiador Anselmo?")
    assert (hit.record.id, "Anselmo" in hit.matched) == (kept.id, True)
    assert await memory.file("ana", kept.id) == LEASE
    assert await memory.search("bia", "fiador") == []
    with refused(NotAllowed, "memory_unknown"):
        await memory.file("bia", kept.id)


async def test_the_same_bytes_are_one_memory_with_versions(memory: Memory) -> None:
    first = await memory.attach("ana", "a.png", png(), caption="o gato")
    again = await memory.attach("ana", "a.png", png())
    assert (again.id, again.text, again.type) == (first.id, "a.png: o gato", "image")
    renamed = await memory.attach("ana", "gato.png", png())
    changed = await memory.update("ana", first.id, content="o gato  Tom", key="cat")
    assert (renamed.id, changed.text, changed.key) == (first.id, "gato.png: o gato Tom", first.key)
    assert [one.text for one in await memory.versions("ana", first.id)] == [
        "gato.png: o gato",
        "a.png: o gato",
    ]
    assert len(await memory.list("ana")) == 1
    await memory.undo("ana", first.id)
    assert (await memory.list("ana"))[0].text == "gato.png: o gato"
    assert await memory.file("ana", first.id) == png()


async def test_nothing_but_attaching_makes_a_file(memory: Memory) -> None:
    kept = await memory.attach("ana", "a.txt", LEASE)
    text = (await memory.save("ana", [MemoryDraft(content="Mora em Natal")]))[0].record
    forged = {**kept.content, "sha256": "0" * 64}
    for draft in (
        MemoryDraft(content=forged, type="document", key=f"file:{'0' * 64}"),
        MemoryDraft(content=kept.content),
    ):
        with refused(InputRefused, "file_content"):
            await memory.save("ana", [draft])
    for id, content in ((text.id, kept.content), (kept.id, forged), (kept.id, {"x": 1})):
        with refused(InputRefused, "file_content"):
            await memory.update("ana", id, content=content)
    with refused(InputRefused, "file_none"):
        await memory.file("ana", text.id)
    with refused(InputRefused, "file_type"):
        await memory.attach("ana", "a.exe", b"MZ")
    assert len(await memory.list("ana")) == 2


async def test_a_hidden_file_is_out_of_sight_and_comes_back(memory: Memory) -> None:
    kept = await memory.attach("ana", "contrato.txt", LEASE)
    await memory.archive("ana", [kept.id])
    assert await memory.file("ana", kept.id) == LEASE
    await memory.hide("ana", [kept.id])
    assert await memory.search("ana", "fiador Anselmo") == []
    with refused(NotAllowed, "memory_unknown"):
        await memory.file("ana", kept.id)
    lines = [line async for line in memory.export("ana")]
    assert "file" not in {line["line"] for line in lines} and "Anselmo" not in json.dumps(lines)
    await memory.undo("ana", kept.id)
    assert await memory.file("ana", kept.id) == LEASE


@pytest.mark.spec("BY-9")
async def test_an_erased_file_leaves_neither_bytes_nor_words(memory: Memory) -> None:
    message = said("Guarde isto.\n[Arquivo: contrato.txt]").model_copy(update={"at": memory.core.clock()})
    cycle = await memory.transcript.open_cycle("ana", "chat", message, parent=None, channel="cli")
    source = Source(cycle=cycle.id, words="[Arquivo: contrato.txt]")
    kept = await memory.attach("ana", "contrato.txt", LEASE, cycle=cycle.id)
    assert kept.source == source.model_copy(update={"words": ""})
    reply = said("Li: o fiador chama-se Anselmo Tavares, do seu contrato.txt. Mais algo?", "r", "assistant")
    shown = [{**step("MemorySearch"), "found": [kept.id]}]
    await memory.transcript.close_cycle("ana", cycle.id, execution="e", messages=[reply], steps=shown)  # type: ignore[arg-type]
    other = await memory.attach("ana", "outro.txt", b"Outro texto.")
    twin = await memory.attach("bia", "contrato.txt", LEASE)
    receipt = await memory.erase("ana", [kept.id])
    assert (receipt.memories, receipt.files, receipt.left) == (1, 1, ())
    assert await left_of(memory, "ana", ["Anselmo", "contrato.txt"]) == []
    (told,) = await memory.conversation("ana", "chat")
    assert (told.message.text, told.replies[0].text) == (
        f"Guarde isto.\n[Arquivo: {HIDDEN}]",
        f"{HIDDEN} Mais algo?",
    )
    assert dict(await memory.core.storage.files.listing("ana")) == {
        file_of(other.content): len(b"Outro texto.")
    }
    assert await memory.file("bia", twin.id) == LEASE


async def test_a_file_that_was_attached_again_survives_the_erasure_of_the_first(memory: Memory) -> None:
    first = await memory.attach("ana", "a.png", png(), caption="um")
    await memory.hide("ana", [first.id])
    second = await memory.attach("ana", "a.png", png(), caption="dois")
    assert second.id != first.id
    assert (await memory.erase("ana", [first.id])).files == 0
    assert await memory.file("ana", second.id) == png()
    assert (await memory.erase("ana", [second.id])).files == 1


async def test_export_brings_files_along_once(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_format, "_PART", 1_000)
    data = random.Random(1).randbytes(1_250).hex().encode()
    kept = await memory.attach("ana", "grande.txt", data)
    await memory.attach("ana", "a.png", png(), caption="o gato")
    await memory.pin("ana", [kept.id])
    path = tmp_path / "export.jsonl"
    lines = [line async for line in memory.export("ana")]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert lines[-1]["lines"]["file"] == 4
    done = await memory.import_file("bia", path)
    assert (done.files, done.memories) == (2, 2)
    (copy,) = [one for one in await memory.list("bia") if one.text == "grande.txt"]
    assert (await memory.file("bia", copy.id), copy.pinned) == (data, True)
    assert (await memory.import_file("bia", path)).files == 0
    assert (await memory.import_file("ana", path)).files == 0
    await memory.erase("bia", [copy.id])
    assert (await memory.import_file("bia", path)).files == 0
    assert len(await memory.core.storage.files.listing("bia")) == 1


@pytest.mark.parametrize("harm", ["data", "sha256", "start", "gone", "name", "media_type"])
async def test_a_damaged_file_line_refuses_the_import(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "export.jsonl"
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None, clock=Clock()) as memory:
        await memory.attach("ana", "a.txt", LEASE)
        lines = [line async for line in memory.export("ana")]
        place = next(number for number, line in enumerate(lines) if line["line"] == "file")
        if harm == "gone":
            lines[place]["size"] += 1
        elif harm in ("name", "media_type"):
            content = next(line["content"] for line in lines if line["line"] == "memory")
            content[harm] = {"name": "../a.txt", "media_type": "text/html\r\nSet-Cookie: x=1"}[harm]
        else:
            lines[place][harm] = {"data": "AAAA", "sha256": "0" * 64, "start": 1}[harm]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        with refused(InputRefused, "import_damaged"):
            await memory.import_file("bia", path)
        assert dict(await memory.core.storage.files.listing("bia")) == {}


async def test_doctor_sees_what_does_not_fit_and_removes_strays(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    async with Memory.open(url, embeddings=WordEmbedder(), clock=Clock()) as memory:
        kept = await memory.attach("ana", "a.txt", LEASE)
        await memory.core.storage.files.put("ana", "0" * 64, b"stray")
        storage = memory.core.storage
        assert isinstance(storage, SqliteStorage)
        spoil = "UPDATE files SET data = x'78' WHERE hash <> ?"
        await storage.database.write(lambda db: db.execute(spoil, ("0" * 64,)))
        assert {flaw.code for flaw in await memory.doctor("ana")} == {"file_stray", "file_damaged"}
        with refused(StorageFailed, "file_lost"):
            await memory.file("ana", kept.id)
        assert [flaw.code for flaw in await memory.doctor("ana", mend=True)] == ["file_damaged"]
        await storage.database.write(lambda db: db.execute("DELETE FROM files"))
        assert [flaw.code for flaw in await issues(storage, "ana")] == ["file_missing"]


async def test_backup_and_forgetting_take_files_with_them(tmp_path: Path) -> None:
    url, copy = f"sqlite:///{tmp_path}/m.db", tmp_path / "copy.db"
    async with Memory.open(url, embeddings=None, clock=Clock()) as memory:
        kept = await memory.attach("ana", "contrato.pdf", pdf("Contrato"))
        await memory.attach("bia", "contrato.docx", docx("Contrato"))
        await backup(url, copy)
        farewell = await memory.forget_user("ana")
        assert (farewell.erased["files"], farewell.left) == (1, {})
        with refused(NotAllowed, "memory_unknown"):
            await memory.file("ana", kept.id)
    await restore(url, copy, replace=True)
    async with Memory.open(url, embeddings=None, clock=Clock()) as memory:
        assert await memory.file("ana", kept.id) == pdf("Contrato")


class Down(WordEmbedder):
    """An embedding model that is out of reach."""

    async def aembed_documents(self, texts: list[str], /) -> list[list[float]]:
        raise ModelTransient("model_down", cause="test")


async def test_a_file_is_kept_by_its_words_while_the_embedding_model_is_away(tmp_path: Path) -> None:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=Down(), clock=Clock()) as memory:
        kept = await memory.attach("ana", "contrato.txt", LEASE)
        assert kept.vector_ids == ()
        (hit,) = await memory.search("ana", "fiador", vector=np.empty(0, np.float32))
        assert hit.shown.text.startswith("contrato.txt: O aluguel") and "fiador" in hit.shown.text
        answer = await ToolService("pt", Limits()).search(
            memory, ToolRequest("ana"), query="quem é o fiador?"
        )
        assert "Anselmo Tavares" in answer.text and answer.shown == (kept.id,)
