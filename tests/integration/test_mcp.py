"""The MCP server, asked by the SDK's own client: what it offers, whose memory it is, what it refuses."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent
from typer.testing import CliRunner

from thoughtcycle.cli.main import app
from thoughtcycle.errors import NotAllowed, StorageUnavailable
from thoughtcycle.extras import install_command
from thoughtcycle.integrations.caller import Setup
from thoughtcycle.integrations.mcp import create_server
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.prompts.loader import LANGUAGES, Language

pytestmark = pytest.mark.spec("BY-6")

CITY = MemoryDraft(content="Lives in Lisbon", kind="bio", bindings=("home", "city"))


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=LexicalEmbeddings()) as opened:
        yield opened


def client(
    memory: Memory,
    user: str = "ana",
    language: Language = "en",
    *,
    incognito: bool = False,
    mode: str = "auto",
) -> Client:
    """A session with a server of its own; `legacy` speaks JSON over memory streams."""
    setup = Setup(language=language, limits=Limits(content_chars=100))
    context = Context(user_id=user, channel="mcp", incognito=incognito)
    return Client(create_server(memory, context, setup), mode=mode)


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def id_in(result: CallToolResult) -> str:
    return text(result).split("[")[1].split("]")[0]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.spec("BY-5")
async def test_five_tools_are_offered_and_no_user(memory: Memory, language: Language) -> None:
    async with client(memory, language=language) as asking:
        tools = (await asking.list_tools()).tools
        assert asking.instructions
    assert {one.name: sorted(one.input_schema["properties"]) for one in tools} == {
        "memory_search": ["query"],
        "memory_save": ["content", "topics"],
        "memory_update": ["content", "id"],
        "memory_delete": ["ids"],
        "briefing": ["message"],
    }
    for one in tools:
        assert one.description and one.annotations
        assert one.annotations.read_only_hint is (one.name in ("memory_search", "briefing"))
        assert all(each["description"] for each in one.input_schema["properties"].values())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.spec("TC-8", "TC-9", "TC-10", "TC-11")
async def test_search_save_update_delete_and_undo(memory: Memory, mode: str) -> None:
    async with client(memory, mode=mode) as asking:
        saved = await asking.call_tool("memory_save", {"content": "Lives in Lisbon", "topics": ["home"]})
        again = await asking.call_tool("memory_save", {"content": "Lives in Lisbon"})
        assert id_in(saved) == id_in(again) and text(saved) != text(again)
        found = await asking.call_tool("memory_search", {"query": "where is home?"})
        assert "Lives in Lisbon" in text(found) and id_in(found) == id_in(saved)
        changed = await asking.call_tool("memory_update", {"id": id_in(found), "content": "Lives in Porto"})
        assert not changed.is_error
        assert "Lives in Porto" in text(await asking.call_tool("memory_search", {"query": "home"}))
        gone = await asking.call_tool("memory_delete", {"ids": [id_in(found)]})
        assert text(gone).startswith("1 ")
        assert "Porto" not in text(await asking.call_tool("memory_search", {"query": "home"}))
    undone = await memory.undo("ana")
    assert undone.record is not None and undone.record.content == "Lives in Porto"


@pytest.mark.spec("BY-7")
async def test_a_briefing_tells_what_the_message_calls_for(memory: Memory) -> None:
    await memory.save("ana", [CITY])
    async with client(memory) as asking:
        told = await asking.call_tool("briefing", {"message": "Which city is my home?"})
        assert "Lives in Lisbon" in text(told) and "data" in text(told)
    async with client(memory, "bia") as asking:
        assert "Lisbon" not in text(await asking.call_tool("briefing", {"message": "Which city is my home?"}))
    assert await memory.chats("ana") == []


@pytest.mark.spec("BY-5")
async def test_only_what_this_session_was_shown_can_be_changed(memory: Memory) -> None:
    (mine,), (hers,) = await memory.save("ana", [CITY]), await memory.save("bia", [CITY])
    async with client(memory) as one, client(memory) as two:
        id = id_in(await one.call_tool("memory_search", {"query": "city"}))
        assert mine.record.id.startswith(id)
        for asking, given in ((two, id), (two, mine.record.id), (one, hers.record.id), (one, "0" * 8)):
            for name, arguments in (
                ("memory_update", {"id": given, "content": "Lives nowhere"}),
                ("memory_delete", {"ids": [given]}),
            ):
                refused = await asking.call_tool(name, arguments)
                assert refused.is_error and "shown" in text(refused)
        mixed = await one.call_tool("memory_delete", {"ids": [id, hers.record.id]})
        assert mixed.is_error
    for user in ("ana", "bia"):
        assert [record.content for record in await memory.list(user)] == ["Lives in Lisbon"]


BAD = [
    ("memory_search", {"query": "  "}),
    ("memory_search", {"query": "x" * 2_001}),
    ("memory_search", {}),
    ("memory_save", {"content": " "}),
    ("memory_save", {"content": "x" * 101}),
    ("memory_save", {"content": "x", "topics": ["t"] * 13}),
    ("memory_save", {"content": {"not": "text"}}),
    ("memory_save", {"content": "\ud800"}),
    ("memory_update", {"id": "short", "content": "x"}),
    ("memory_delete", {"ids": []}),
    ("briefing", {"message": ""}),
    ("briefing", {"message": "x" * 20_001}),
    ("nothing", {}),
]


async def test_bad_arguments_are_one_line_and_change_nothing(memory: Memory) -> None:
    async with client(memory) as asking:
        for name, arguments in BAD:
            refused = await asking.call_tool(name, arguments)
            assert refused.is_error and text(refused) and "Traceback" not in text(refused), (name, arguments)
            assert "\n" not in text(refused) and "http" not in text(refused) and "Error" not in text(refused)
        assert not (await asking.call_tool("memory_search", {"query": "x", "user": "bia"})).is_error
    assert await memory.list("ana") == []


async def test_a_bad_argument_is_told_in_the_language(memory: Memory) -> None:
    async with client(memory, language="pt") as asking:
        refused = await asking.call_tool("memory_save", {"content": {"not": "text"}})
        assert text(refused) == "content não pode ser usado como está. Esperado: um texto."
        refused = await asking.call_tool("nothing", {})
        assert refused.is_error and text(refused).startswith("Não há ferramenta 'nothing'; esperava-se uma")


@pytest.mark.spec("BY-10")
async def test_incognito_reads_and_writes_nothing(memory: Memory) -> None:
    await memory.save("ana", [CITY])
    async with client(memory, incognito=True) as asking:
        id = id_in(await asking.call_tool("memory_search", {"query": "city"}))
        assert (await asking.call_tool("memory_save", {"content": "Likes tea"})).is_error
        assert (await asking.call_tool("memory_update", {"id": id, "content": "Lives in Porto"})).is_error
    assert [record.content for record in await memory.list("ana")] == ["Lives in Lisbon"]


async def test_failures_tell_nothing_of_the_inside(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object, **__: object) -> None:
        raise StorageUnavailable("secret-host")

    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret-host")

    async with client(memory) as asking:
        for failing in (away, broken):
            monkeypatch.setattr(memory, "search", failing)
            refused = await asking.call_tool("memory_search", {"query": "city"})
            assert refused.is_error and ("secret-host" in text(refused)) is False


def test_without_a_user_there_is_no_server(memory: Memory) -> None:
    for user in ("", " ", "x" * 201):
        with pytest.raises(NotAllowed):
            create_server(memory, Context(user_id=user))


def test_without_the_package_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "thoughtcycle.integrations.mcp", None)
    done = CliRunner().invoke(app, ["mcp", "--user", "ana", "--db", f"sqlite:///{tmp_path}/m.db"])
    assert done.exit_code == 1 and done.stdout == ""
    assert install_command("mcp") in " ".join(done.stderr.split())


async def test_the_command_speaks_over_its_standard_streams_and_ends_with_them(tmp_path: Path) -> None:
    program = ["-c", "from thoughtcycle.cli.main import main; main()"]
    server = StdioServerParameters(
        command=sys.executable,
        args=[*program, "mcp", "--user", "ana", "--db", f"sqlite:///{tmp_path}/m.db"],
        env={**os.environ, "THOUGHTCYCLE_LANGUAGE": "en", "THOUGHTCYCLE_SPOOL": f"{tmp_path}/spool"},
        cwd=tmp_path,
    )
    async with Client(server) as asking:
        saved = await asking.call_tool("memory_save", {"content": "Lives in Lisbon", "topics": ["home"]})
        assert id_in(saved) in text(await asking.call_tool("memory_search", {"query": "home"}))
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None) as memory:
        assert [record.content for record in await memory.list("ana")] == ["Lives in Lisbon"]
        assert await memory.doctor() == []
