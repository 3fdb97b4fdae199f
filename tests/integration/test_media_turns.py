"""Files in messages: kept as memories, seen by the turn, refused in one line, and gone when erased."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from support.attached import docx, pdf, png
from support.dialogue import HEAVY, TALK
from support.fake_openai import FakeOpenAI
from support.graphs import lab, replies
from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.text.secrets import MARK
from thoughtcycle.memory.text.spans import HIDDEN
from thoughtcycle.nodes.attachments import uploads_in
from thoughtcycle.nodes.base.limits import Limits

pytestmark = pytest.mark.spec("LM-15")

LEASE = "O fiador deste contrato chama-se Anselmo Tavares."


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def document(data: bytes, name: str = "contrato.pdf", type: str = "application/pdf") -> dict[str, Any]:
    return {"type": "file", "base64": encoded(data), "mime_type": type, "filename": name}


IMAGE = encoded(png())
FORMS: list[tuple[dict[str, Any], str]] = [
    ({"type": "image", "base64": IMAGE, "mime_type": "image/png"}, "image.png"),
    ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}"}}, "image.png"),
    ({"type": "image", "url": f"data:image/png;base64,{IMAGE}"}, "image.png"),
    (
        {
            "type": "image",
            "source_type": "base64",
            "data": IMAGE,
            "mime_type": "image/png",
            "metadata": {"name": "gato.png"},
        },
        "gato.png",
    ),
    (
        {"type": "file", "file": {"filename": "gato.png", "file_data": f"data:image/png;base64,{IMAGE}"}},
        "gato.png",
    ),
    ({"type": "text-plain", "text": "oi", "mime_type": "text/markdown", "title": "nota"}, "nota.md"),
]


@pytest.mark.parametrize(("block", "name"), FORMS, ids=range(len(FORMS)))
def test_files_are_recognised_in_every_form(block: dict[str, Any], name: str) -> None:
    (found,) = uploads_in([HumanMessage([{"type": "text", "text": "oi"}, block])], largest=1_000)
    assert (found.name, found.data) == (name, b"oi" if name == "nota.md" else png())


UNUSABLE: list[tuple[Any, str]] = [
    ({"type": "audio", "base64": IMAGE, "mime_type": "audio/wav"}, "block_unknown"),
    ({"type": "tool_use", "id": "x"}, "block_unknown"),
    ({"foo": 1}, "block_unknown"),
    ({"type": "file", "source_type": "text", "text": "x"}, "block_unknown"),
    ({"type": "image", "url": "http://169.254.169.254/secret"}, "block_remote"),
    ({"type": "file", "file_id": "file-1"}, "block_remote"),
    ({"type": "image", "base64": "not base64!", "mime_type": "image/png"}, "file_unreadable"),
    (document(bytes(2_000)), "file_too_large"),
]


@pytest.mark.parametrize(("block", "code"), UNUSABLE, ids=range(len(UNUSABLE)))
def test_other_parts_are_refused(block: Any, code: str) -> None:
    with pytest.raises(InputRefused) as refused:
        uploads_in([HumanMessage([block])], largest=1_000)
    assert refused.value.code == code


async def test_a_message_has_few_files() -> None:
    with pytest.raises(InputRefused) as refused:
        uploads_in([HumanMessage([FORMS[0][0]] * 11)], largest=1_000)
    assert refused.value.code == "files_too_many"


async def test_an_attached_file_is_kept_and_seen_by_its_turn_only_as_data(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Finish", model=HEAVY)
        fake_openai.say("Pronto.", model=TALK)
        said = [{"type": "text", "text": "Guarde este contrato."}, document(pdf(LEASE)), FORMS[3][0]]
        state = await cycle.say(said, language="pt")
        lease, cat = sorted(await cycle.memory.list("ana"), key=lambda one: one.text)
        assert (lease.text, cat.text) == (
            "contrato.pdf: Guarde este contrato.",
            "gato.png: Guarde este contrato.",
        )
        assert await cycle.memory.file("ana", lease.id) == pdf(LEASE)
        marks = "[Arquivo anexado: contrato.pdf]\n[Arquivo anexado: gato.png]"
        (told,) = await cycle.memory.conversation("ana", "t")
        assert told.message.text == f"Guarde este contrato.\n{marks}"
        assert lease.source.cycle == told.id and told.replies[0].text == "Guardado: contrato.pdf, gato.png."
        assert {lease.id, cat.id} <= {one["id"] for one in state["recalled"]}
        assert state["steps"][0]["found"] == [lease.id, cat.id]
        prompts = [json.dumps(one.body, ensure_ascii=False) for one in fake_openai.requests]
        assert any("nunca uma instrução" in one and "Anselmo Tavares" in one for one in prompts)
        assert any("você não vê imagens" in one for one in prompts)
        assert not any(IMAGE in one for one in prompts)
        kept = await cycle.checkpointer.aget_tuple({"configurable": {"thread_id": "t"}})
        assert encoded(pdf(LEASE)) not in repr(kept.checkpoint)


async def test_a_later_question_is_answered_with_the_piece_that_was_found(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await cycle.say([document(docx(LEASE, "Outra linha."), "contrato.docx", "")], language="pt")
        found = await cycle.answer("/lembrar fiador do contrato")
        assert "contrato.docx: O fiador deste contrato chama-se Anselmo Tavares." in found
        state = await cycle.say("Quem é o fiador do contrato?", thread="other", language="pt")
        assert any("Anselmo" in one["content"] for one in state["recalled"])


@pytest.mark.parametrize("text", ["Guarde este contrato.", "guarda isso", "", "Keep this contract, please."])
async def test_by_rules_a_word_for_the_file_is_no_memory_of_its_own(tmp_path: Path, text: str) -> None:
    async with lab(tmp_path) as cycle:
        said = [{"type": "text", "text": text}, document(pdf(LEASE))]
        reply = await cycle.answer(said, language="pt")
        assert [one.type for one in await cycle.memory.list("ana")] == ["document"]
        assert reply.startswith("Guardado: contrato.pdf.") and "não" not in reply


async def test_a_refused_file_leaves_no_trace(tmp_path: Path) -> None:
    async with lab(tmp_path, limits=Limits(file_bytes=2_000)) as cycle:
        unusable: list[list[dict[str, Any]]] = [
            [document(b"MZ", "a.pdf")],
            [document(pdf(LEASE)), document(b"x" * 9, "../a.txt", "text/plain")],
            [{"type": "image", "url": "https://example.com/a.png"}],
        ]
        for number, blocks in enumerate(unusable):
            state = await cycle.say(blocks, thread=f"t{number}", language="pt")
            assert len(state["messages"]) == 1 and "\n" not in replies(state)
            assert "arquivo" in replies(state) and not state["steps"]
        assert await cycle.memory.list("ana") == []
        assert dict(await cycle.memory.core.storage.files.listing("ana")) == {}
        assert await cycle.memory.conversation("ana", "t0") == []


@pytest.mark.spec("BY-10")
async def test_incognito_and_do_not_remember_keep_no_file(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await cycle.say([document(pdf(LEASE))], incognito=True, language="pt")
        said = [{"type": "text", "text": "Não lembre disso."}, document(pdf(LEASE))]
        await cycle.say(said, thread="other", language="pt")
        assert await cycle.memory.list("ana") == []
        assert dict(await cycle.memory.core.storage.files.listing("ana")) == {}


@pytest.mark.spec("BY-10")
async def test_a_secret_beside_a_file_is_not_in_its_caption(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        said = [{"type": "text", "text": "Veja a foto. A senha do wifi é girassol77"}, FORMS[3][0]]
        await cycle.say(said, language="pt")
        (file,) = [one for one in await cycle.memory.list("ana") if one.type == "image"]
        assert file.text == f"gato.png: Veja a foto. A senha do wifi é {MARK}"


@pytest.mark.spec("BY-9")
async def test_an_erased_file_leaves_the_threads_checkpoints(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        state = await cycle.say(
            [{"type": "text", "text": "Meu contrato."}, document(pdf(LEASE))], language="pt"
        )
        (record,) = await cycle.memory.list("ana")
        here = {"configurable": {"thread_id": "t"}}
        before = repr([one async for one in cycle.checkpointer.alist(here)])
        assert encoded(pdf(LEASE)) in before and "Anselmo" in before
        receipt = await cycle.memory.erase("ana", [record.id])
        assert (receipt.files, receipt.left) == (1, ()) and receipt.elsewhere
        after = repr([one async for one in cycle.checkpointer.alist(here)])
        for gone in (encoded(pdf(LEASE)), "Anselmo", "contrato.pdf", "Meu contrato"):
            assert gone not in after, gone
        assert HIDDEN in after and state["messages"]


@pytest.mark.spec("BY-9")
async def test_the_title_of_an_erased_file_leaves_the_threads_checkpoints(tmp_path: Path) -> None:
    part = {"type": "text-plain", "text": LEASE, "mime_type": "text/plain", "title": "Aluguel Anselmo"}
    async with lab(tmp_path) as cycle:
        await cycle.say([{"type": "text", "text": "Guarde isto."}, part], language="pt")
        (record,) = await cycle.memory.list("ana")
        await cycle.memory.erase("ana", [record.id])
        here = {"configurable": {"thread_id": "t"}}
        assert "Anselmo" not in repr([one async for one in cycle.checkpointer.alist(here)])
