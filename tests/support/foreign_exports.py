"""What ChatGPT and Claude hand out on request: zip files whose conversations have all fields of the real ones.

The shapes follow what convoviz, chatgpt-export-parser, polylogue, nexus-ai-chat-importer and Cherry Studio
tell of the files that they read; the words are made up.
"""

import json
import zipfile
from pathlib import Path
from typing import Any

ROOT = "00000000-0000-4000-8000-000000000000"
"""The parent of a first message of Claude's."""
HIDDEN = {"is_visually_hidden_from_conversation": True}
CITED = "Chove \ue200cite\ue202turn0search0\ue202turn0news1\ue201amanhã\u301012\u2020weather.example\u3011."


def chatgpt_message(id: str, role: str, content: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A message with all its fields; `more` takes the place of some."""
    known = {
        "id": id,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": 1_736_000_000.123,
        "update_time": None,
        "content": content,
        "status": "finished_successfully",
        "end_turn": None,
        "weight": 1.0,
        "metadata": {"request_id": "r", "message_type": "next", "model_slug": "gpt-4o"},
        "recipient": "all",
        "channel": None,
    }
    return known | more


def text(*parts: Any) -> dict[str, Any]:
    return {"content_type": "text", "parts": list(parts)}


def mixed(*parts: Any) -> dict[str, Any]:
    return {"content_type": "multimodal_text", "parts": list(parts)}


PICTURE = {
    "content_type": "image_asset_pointer",
    "asset_pointer": "sediment://file_0000",
    "size_bytes": 1,
    "width": 1,
    "height": 1,
    "fovea": None,
    "metadata": {"dalle": None, "gizmo": None, "sanitized": True},
}
SOUND = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_1", "format": "wav"}
FILM = {
    "content_type": "real_time_user_audio_video_asset_pointer",
    "frames_asset_pointers": [],
    "video_container_asset_pointer": None,
    "audio_asset_pointer": SOUND,
    "audio_start_timestamp": 3.9,
}


def spoken(words: str) -> dict[str, Any]:
    return {"content_type": "audio_transcription", "text": words, "direction": "in", "decoding_id": None}


CONTEXT = {
    "content_type": "user_editable_context",
    "user_profile": "The user provided the following information",
    "user_instructions": "Never finish with a question",
}
THOUGHTS = {
    "content_type": "thoughts",
    "thoughts": [{"summary": "Weighing", "content": "They want soup"}],
    "source_analysis_msg_id": "x",
}
QUOTE = {"content_type": "tether_quote", "url": "file-1", "domain": "a.pdf", "text": "quoted", "title": "A"}
SHOWING = {"content_type": "tether_browsing_display", "result": "L0: page", "summary": None, "assets": None}
CODE = {"content_type": "code", "language": "unknown", "text": 'search("rain")'}
OUTPUT = {"content_type": "execution_output", "text": "42"}

_BRANCH = [
    ("client-created-root", None),
    ("system", chatgpt_message("system", "system", text(""), weight=0.0, metadata=HIDDEN, create_time=None)),
    ("profile", chatgpt_message("profile", "user", CONTEXT, weight=0.0, metadata=HIDDEN)),
    ("memory", chatgpt_message("memory", "system", {"content_type": "model_editable_context", "model_set_context": "1. x"})),
    ("ask", chatgpt_message("ask", "user", mixed(PICTURE, "Chove amanhã?"), metadata={"attachments": [{"id": "f", "name": "a.png"}]})),
    ("quote", chatgpt_message("quote", "tool", QUOTE, author={"role": "tool", "name": "myfiles_browser", "metadata": {}})),
    ("unshown", chatgpt_message("unshown", "user", text("Original custom instructions no longer available"), metadata=HIDDEN)),
    ("thoughts", chatgpt_message("thoughts", "assistant", THOUGHTS)),
    ("recap", chatgpt_message("recap", "assistant", {"content_type": "reasoning_recap", "content": "Thought for 5s"})),
    ("silent", chatgpt_message("silent", "assistant", text("thinking aloud"), channel="analysis")),
    ("call", chatgpt_message("call", "assistant", CODE, recipient="web.run")),
    ("result", chatgpt_message("result", "tool", SHOWING, author={"role": "tool", "name": "web.run", "metadata": {}})),
    ("aside", chatgpt_message("aside", "assistant", text("Vou ver."), channel="commentary")),
    ("blank", chatgpt_message("blank", "assistant", text(""))),
    ("answer", chatgpt_message("answer", "assistant", text(CITED), channel="final", end_turn=True)),
    ("voice", chatgpt_message("voice", "user", mixed(spoken("E depois?"), FILM), create_time=None)),
    ("speech", chatgpt_message("speech", "assistant", mixed(spoken("Depois faz sol."), SOUND), create_time=1_736_000_300)),
    ("python", chatgpt_message("python", "tool", OUTPUT)),
    ("last", {key: value for key, value in chatgpt_message("last", "user", text("Obrigado")).items() if key in ("id", "author", "content")}),
]  # fmt: skip


def chatgpt_conversation(id: str = "6700", **more: Any) -> dict[str, Any]:
    """A conversation with a branch that was edited away."""
    mapping: dict[str, Any] = {}
    parent = None
    for name, message in _BRANCH:
        mapping[name] = {"id": name, "message": message, "parent": parent, "children": []}
        if parent is not None:
            mapping[parent]["children"].append(name)
        parent = name
    edited = chatgpt_message("edited", "user", text("Neva amanhã?"), create_time=1_736_900_000)
    mapping["edited"] = {"id": "edited", "message": edited, "parent": "memory", "children": []}
    mapping["memory"]["children"].append("edited")
    known = {
        "title": None,
        "create_time": 1_735_999_999.5,
        "update_time": 1_736_000_400.5,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": "last",
        "plugin_ids": None,
        "conversation_id": id,
        "conversation_template_id": None,
        "gizmo_id": None,
        "gizmo_type": None,
        "is_archived": False,
        "is_starred": None,
        "safe_urls": [],
        "blocked_urls": [],
        "default_model_slug": "auto",
        "conversation_origin": None,
        "voice": None,
        "async_status": None,
        "disabled_tool_ids": [],
        "is_do_not_remember": None,
        "memory_scope": "global_enabled",
        "id": id,
    }
    return known | more


CHATGPT_SAID = [("Chove amanhã?", "Chove amanhã."), ("E depois?", "Depois faz sol."), ("Obrigado", "")]
"""What a person saw of it."""


def claude_message(id: str, parent: str | None, sender: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    """A message with all its fields; older files have no parents."""
    flat = [block.get("text") or block.get("thinking") or UNSUPPORTED for block in blocks]
    known = {
        "uuid": id,
        "text": " ".join(flat),
        "content": list(blocks),
        "sender": sender,
        "created_at": f"2026-03-29T07:06:{10 + len(id):02}.552627Z",
        "updated_at": "2026-03-29T07:06:35.552627Z",
        "attachments": [],
        "files": [],
    }
    return known | ({} if parent is None else {"parent_message_uuid": parent}) | more


UNSUPPORTED = "\n```\nThis block is not supported on your current device yet.\n```\n"


def block(kind: str, **fields: Any) -> dict[str, Any]:
    times = {"start_timestamp": "2026-03-29T07:06:37.514645Z", "stop_timestamp": None, "flags": None}
    return {**times, "type": kind, **fields}


PASTED = {
    "file_name": "",
    "file_size": 9,
    "file_type": "txt",
    "extracted_content": "linha um\nlinha dois",
}
THINKING = block("thinking", thinking="They want a list.", summaries=[], cut_off=False)
TOOL = block("tool_use", id="toolu_1", name="web_search", input={"query": "x"}, message=None)
RESULT = block("tool_result", tool_use_id="toolu_1", name="web_search", content=[], is_error=False)


def claude_conversation(id: str = "c0", *, branches: bool = True) -> dict[str, Any]:
    """A conversation whose first question was edited; without `branches` as older files tell it."""

    def one(id: str, parent: str, sender: str, *blocks: Any, **more: Any) -> dict[str, Any]:
        return claude_message(id, parent if branches else None, sender, *blocks, **more)

    away = [
        one("a", ROOT, "human", block("text", text="Resuma mal.", citations=[])),
        one("bb", "a", "assistant", block("text", text="Não.", citations=[])),
    ]
    messages = [
        *(away if branches else []),
        one("ccc", ROOT, "human", attachments=[PASTED], files=[{"file_uuid": "f", "file_name": "a.png"}]),
        one("dddd", "ccc", "assistant", THINKING, TOOL),
        one("eeeee", "dddd", "assistant", RESULT, block("text", text="Duas linhas.", citations=[])),
        one("ffffff", "eeeee", "human", block("text", text="Obrigado!", citations=[])),
        one("ggggggg", "ffffff", "assistant", THINKING, {"type": "token_budget", "remaining": 1}),
    ]
    return {
        "uuid": id,
        "name": "",
        "summary": "",
        "created_at": "2026-03-29T07:06:00.000000Z",
        "updated_at": "2026-03-29T07:23:12.364007Z",
        "account": {"uuid": "me"},
        "chat_messages": messages,
    }


CLAUDE_SAID = [("linha um\nlinha dois", "Duas linhas."), ("Obrigado!", "")]


def chatgpt_zip(path: Path) -> None:
    """As it comes: numbered parts, beside pages, pictures and what is known of the user."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("user.json", "user_settings.json", "export_manifest.json"):
            archive.writestr(name, "{}")
        for name in ("message_feedback.json", "shared_conversations.json", "group_chats.json"):
            archive.writestr(name, "[]")
        archive.writestr("chat.html", "<html></html>")
        archive.writestr("file_0000-a.png", b"\x89PNG")
        archive.writestr("__MACOSX/._conversations-000.json", b"\0\5\x16\7")
        archive.writestr("conversations-000.json", json.dumps([chatgpt_conversation("6700")]))
        archive.writestr("conversations-001.json", json.dumps([chatgpt_conversation("6701", title="Tempo")]))


def claude_zip(path: Path) -> None:
    """As it comes: one file of conversations, beside projects, memories and users."""
    never_used = claude_conversation("c1") | {"chat_messages": []}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("users.json", "[]")
        archive.writestr("memories.json", "[]")
        archive.writestr("projects/0198.json", "{}")
        archive.writestr("conversations.json", json.dumps([claude_conversation("c0"), never_used]))
