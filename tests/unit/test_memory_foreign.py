"""Exports of ChatGPT and Claude become chats: the branch a person saw, in pairs, with their own times."""

import io
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support import foreign_exports
from support.engines import memory
from support.foreign_exports import UNSUPPORTED
from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.transfer import import_file
from thoughtcycle.memory.transfer.import_file import objects
from thoughtcycle.memory.transfer.import_foreign import chat_of
from thoughtcycle.memory.transfer.import_own import Imported

__all__ = ["memory"]


def node(id: str, parent: str | None, role: str | None, *parts: object, **more: Any) -> dict[str, Any]:
    message = None
    if role is not None:
        content = {"content_type": more.pop("content_type", "text"), "parts": list(parts)}
        message = {"id": id, "author": {"role": role}, "create_time": 1_700_000_000.5, "content": content}
        message |= more
    return {id: {"id": id, "parent": parent, "children": [], "message": message}}


def chatgpt(*nodes: dict[str, Any], id: str = "g1", **fields: Any) -> dict[str, Any]:
    mapping = {name: one for each in nodes for name, one in each.items()}
    known = {"title": "Jantar", "create_time": 1_699_999_999.0, "conversation_id": id, "mapping": mapping}
    return known | fields


TREE = (
    node("root", None, None),
    node("system", "root", "system", "You are a model"),
    node("profile", "system", "user", content_type="user_editable_context"),
    node("hidden", "profile", "user", "secret", metadata={"is_visually_hidden_from_conversation": True}),
    node("q", "hidden", "user", "O que janto?"),
    node("old", "q", "assistant", "Pizza."),
    node("thought", "q", "assistant", content_type="thoughts"),
    node("search", "thought", "assistant", "search('dinner')", recipient="browser"),
    node("tool", "search", "tool", "10 results"),
    node("aside", "tool", "assistant", "Deixe ver", channel="commentary"),
    node(
        "a1",
        "aside",
        "assistant",
        "Sopa",
        {"content_type": "image_asset_pointer"},
        content_type="multimodal_text",
    ),
    node("a2", "a1", "assistant", "e pão."),
    node(
        "q2",
        "a2",
        "user",
        {"content_type": "audio_transcription", "text": "Sem coentro"},
        content_type="multimodal_text",
        create_time=1_700_000_060,
    ),
)


def claude(*messages: dict[str, Any], id: str = "c1") -> dict[str, Any]:
    return {
        "uuid": id,
        "name": "Viagem",
        "created_at": "2026-01-02T03:04:05.678901Z",
        "chat_messages": list(messages),
    }


def said(sender: str, text: str, **more: Any) -> dict[str, Any]:
    return {"sender": sender, "text": text, "created_at": "2026-01-02T03:05:00Z", **more}


def pairs(conversation: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.said, one.replied) for one in chat_of(conversation).exchanges]


@pytest.mark.spec("BY-4")
def test_of_a_tree_the_visible_branch_is_taken() -> None:
    chat = chat_of(chatgpt(*TREE, current_node="q2"))
    assert (chat.source, chat.id, chat.title) == ("chatgpt", "g1", "Jantar")
    assert [(one.said, one.replied) for one in chat.exchanges] == [
        ("O que janto?", "Sopa\n\ne pão."),
        ("Sem coentro", ""),
    ]
    assert chat.exchanges[0].at == datetime.fromtimestamp(1_700_000_000.5, UTC)
    assert pairs(chatgpt(*TREE, current_node="old")) == [("O que janto?", "Pizza.")]
    assert pairs(chatgpt(*TREE)) == pairs(chatgpt(*TREE, current_node="q2"))


@pytest.mark.parametrize(
    ("conversation", "expected"),
    [
        (claude(said("human", "Oi"), said("human", "tudo bem?"), said("assistant", "Tudo.")), [("Oi\n\ntudo bem?", "Tudo.")]),
        (claude(said("assistant", "Olá"), said("human", "Oi")), [("", "Olá"), ("Oi", "")]),
        (claude(said("human", "x", content=[{"type": "text", "text": "y"}, {"type": "tool_use", "name": "z"}])), [("y", "")]),
        (claude(said("human", "leia", attachments=[{"file_name": "a.txt", "extracted_content": "texto"}])), [("leia\n\ntexto", "")]),
        (claude(said("human", " "), said("tool", "x")), []),
        (claude(said("human", "meio \ud83d par")), [("meio \ufffd par", "")]),
        (claude(said("human", "x", created_at=None)), [("x", "")]),
        (claude(said("human", "x", content=None), said("assistant", UNSUPPORTED + "y", content=[])), [("x", "y")]),
        (claude(said("human", "x", uuid="a"), said("human", "y", uuid="b", parent_message_uuid="a"), said("human", "z", uuid="c", parent_message_uuid="a"))
         | {"current_leaf_message_uuid": "b"}, [("x\n\ny", "")]),
        (claude(said("human", "x", uuid="a", parent_message_uuid="b"), said("human", "y", uuid="b", parent_message_uuid="a")), []),
        (chatgpt(node("a", "b", "user", "loop"), node("b", "a", "assistant", "pool"), current_node="a"), [("", "pool"), ("loop", "")]),
        (chatgpt(node("a", None, "user", None, 3, "x"), title=None, create_time=None), [("x", "")]),
    ],
)  # fmt: skip
def test_messages_are_paired(conversation: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert pairs(conversation) == expected


@pytest.mark.spec("BY-4")
def test_what_a_person_saw_is_taken_from_conversations_of_the_real_form() -> None:
    chat = chat_of(foreign_exports.chatgpt_conversation())
    assert [(one.said, one.replied) for one in chat.exchanges] == foreign_exports.CHATGPT_SAID
    assert chat.title is None
    assert [one.at.timestamp() for one in chat.exchanges] == [1_736_000_000.123] * 2 + [1_736_000_300]
    for branches in (True, False):
        chat = chat_of(foreign_exports.claude_conversation(branches=branches))
        assert [(one.said, one.replied) for one in chat.exchanges] == foreign_exports.CLAUDE_SAID
        assert (chat.title, chat.exchanges[0].at.isoformat()) == (None, "2026-03-29T07:06:13.552627+00:00")


@pytest.mark.spec("BY-4")
@pytest.mark.parametrize(("name", "chats", "cycles"), [("chatgpt_zip", 2, 6), ("claude_zip", 1, 2)])
async def test_a_file_as_it_is_delivered_is_taken_in(
    memory: Memory, tmp_path: Path, name: str, chats: int, cycles: int
) -> None:
    getattr(foreign_exports, name)(tmp_path / "delivered.zip")
    assert await memory.import_file("ana", tmp_path / "delivered.zip") == Imported(chats=chats, cycles=cycles)
    assert await memory.import_file("ana", tmp_path / "delivered.zip") == Imported()


@pytest.mark.parametrize(
    "conversation",
    [{}, {"mapping": []}, {"mapping": {"a": 1}, "id": "x", "current_node": "a"}, {"chat_messages": [1], "uuid": "x"},
     claude(id=""), {"chat_messages": []}, chatgpt(*TREE, id="", current_node="q2")],
)  # fmt: skip
def test_what_is_neither_is_refused(conversation: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        chat_of(conversation)


def test_a_list_is_read_object_by_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_file, "_PIECE", 7)
    found = [{"a": "ção [1, 2] \u2028 \U0001f980"}, {}, {"b": [{"c": None}]}]
    for indent in (None, 2):
        data = json.dumps(found, indent=indent, ensure_ascii=False).encode()
        assert list(objects(io.BytesIO(data))) == found
    assert list(objects(io.BytesIO(b"\xef\xbb\xbf [ ] "))) == []
    monkeypatch.setattr(import_file, "LONGEST", 100)
    for bad in (b"", b"{}", b"[{}", b"[{},]", b"[1]", b"[{}{}]", b'[{"a": "' + b"x" * 999, b"[{\xff}]"):
        with pytest.raises(ValueError):
            list(objects(io.BytesIO(bad)))


async def test_a_zip_that_unpacks_to_far_more_is_refused_unread(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "bomb.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(6):
            archive.writestr(f"conversations-{number}.json", b" " * 10_000_000 + b"[]")
    with pytest.raises(InputRefused) as refused:
        await memory.import_file("ana", file)
    assert refused.value.code == "file_unsafe"


@pytest.mark.spec("BY-4")
@pytest.mark.parametrize("form", ["list", "zip", "numbered"])
async def test_conversations_become_cycles_once(memory: Memory, tmp_path: Path, form: str) -> None:
    shell = {"title": "gone", "conversation_id": "g0"}
    parts = [
        [chatgpt(*TREE, current_node="q2"), shell],
        [claude(said("human", "Vou a Roma"), said("assistant", "Boa!"))],
    ]
    file = tmp_path / "export"
    if form == "list":
        file.write_text(json.dumps([*parts[0], *parts[1]]))
    else:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("user.json", "{}")
            for number, part in enumerate([[*parts[0], *parts[1]]] if form == "zip" else parts):
                name = "conversations.json" if form == "zip" else f"data/conversations-{number:03}.json"
                archive.writestr(name, json.dumps(part))
    seen: list[tuple[int, int]] = []
    done = await memory.import_file("ana", file, progress=lambda part, whole: seen.append((part, whole)))
    assert done == Imported(chats=2, cycles=3)
    assert seen[-1] == (2, 2)
    chats = {
        chat.title: chat for chat in await memory.core.storage.chats.conversations("ana", after=None, limit=9)
    }
    assert chats.keys() == {"Jantar", "Viagem"}
    cycles = await memory.conversation("ana", chats["Jantar"].id, limit=9)
    assert [(cycle.message.text, [reply.text for reply in cycle.replies]) for cycle in cycles] == [
        ("O que janto?", ["Sopa\n\ne pão."]),
        ("Sem coentro", []),
    ]
    assert {(cycle.channel, cycle.formation) for cycle in cycles} == {("import:chatgpt", "pending")}
    assert cycles[1].message.at == datetime.fromtimestamp(1_700_000_060, UTC)
    assert chats["Jantar"].created == datetime.fromtimestamp(1_699_999_999, UTC)
    hits = await memory.search("ana", "Roma", include=("cycles",))
    assert [getattr(hit, "text", None) for hit in hits][:1] == ["Vou a Roma"]
    await memory.core.storage.chats.rename("ana", chats["Viagem"].id, "Roma")
    assert await memory.import_file("ana", file) == Imported()
    assert await memory.import_file("bia", file) == Imported(chats=2, cycles=3)
    assert (await memory.transcript.claim_chat("ana", chats["Viagem"].id)).title == "Roma"
    await memory.forget_user("ana")
    assert await memory.import_file("ana", file) == Imported(chats=2, cycles=3)
    again = {
        chat.title: chat for chat in await memory.core.storage.chats.conversations("ana", after=None, limit=9)
    }
    assert again["Jantar"] == chats["Jantar"]


@pytest.mark.parametrize("damage", ["half", "half zip", "other zip", "one is foreign", "broken data"])
async def test_a_damaged_file_adds_nothing(tmp_path: Path, damage: str) -> None:
    whole = json.dumps(
        [chatgpt(*TREE, current_node="q2"), claude(said("human", "Oi")), {"x": 1, "mapping": 3}][:2]
    )
    file = tmp_path / "export"
    if damage == "half":
        file.write_text(whole[:-20])
    elif damage == "one is foreign":
        file.write_text(whole[:-1] + ', {"recipe": 1, "mapping": 3}]')
    else:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("notes.txt" if damage == "other zip" else "conversations.json", whole)
        data = file.read_bytes()
        if damage == "half zip":
            file.write_bytes(data[: len(data) // 2])
        if damage == "broken data":
            file.write_bytes(data.replace(b"janto", b"danto"))
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None) as memory:
        with pytest.raises(InputRefused) as refused:
            await memory.import_file("ana", file)
        assert refused.value.code in ("import_damaged", "import_unknown")
        assert (await memory.stats("ana")).chats == 0
