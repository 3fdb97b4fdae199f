"""Dependencies: declared where imported, imported only when needed, and a missing one is named in one line."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from support.modules import modules
from thoughtcycle import extras
from thoughtcycle.extras import extra_missing, install_command

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
UNIMPORTED = {
    "langchain-mongodb": "declared for the index of one large user in MongoDB",
    "langchain-huggingface": "imported by name where a local model is configured",
    "sentence-transformers": "langchain-huggingface loads it",
    "tzdata": "the time zones of a machine that has none",
    "httptools": "uvicorn finds it by itself",
    "uvloop": "uvicorn finds it by itself",
    "python-multipart": "FastAPI reads forms with it",
}
PARTS = {
    "langgraph-sdk": "langgraph",
    "mcp-types": "mcp",
    "openai": "langchain-openai",
    "pydantic-core": "pydantic",
}
"""Packages that are a part of one that is declared."""
TURN = """
import asyncio, sys
from thoughtcycle.runtime.resources import hold
from thoughtcycle.graph.thought_cycle import create_thought_cycle
from thoughtcycle.nodes.base.context import Context

async def main():
    async with hold() as resources:
        memory, mind = resources.services.memory, resources.services.mind
        graph = create_thought_cycle(memory=memory, mind=mind, checkpointer=resources.checkpointer)
        config = {"configurable": {"thread_id": "t"}}
        await graph.ainvoke({"messages": [("user", "Guarde: gosto de chá")]}, config, context=Context(user_id="ana"))
        assert await memory.list("ana")

asyncio.run(main())
print(*sorted(name for name in sys.modules if "mongo" in name or name.split(".")[0] in ("bson", "gridfs")))
"""


def name_of(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def imported() -> list[set[str]]:
    """For each top package that a module of the product imports, the distributions that bring it."""
    known = packages_distributions()
    found = set()
    for path in modules().values():
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found |= {name.split(".")[0] for name in names}
    return [
        {name_of(one) for one in known[top]} for top in found - sys.stdlib_module_names - {"thoughtcycle"}
    ]


def test_declared_is_what_is_imported() -> None:
    shipped = [EXTRAS[extra] for extra in ("documents", "local", "mcp", "web")]
    declared = {name_of(line) for lines in (PROJECT["dependencies"], *shipped) for line in lines}
    assert [names for names in imported() if not names & (declared | PARTS.keys())] == []
    assert PARTS.keys() & declared == set() and set(PARTS.values()) <= declared
    assert declared - set.union(*imported()) == set(UNIMPORTED)


@pytest.mark.spec("BY-3")
def test_a_turn_on_sqlite_imports_nothing_of_mongodb(tmp_path: Path) -> None:
    environment = {"THOUGHTCYCLE_DB": f"sqlite:///{tmp_path}/m.db", "THOUGHTCYCLE_SPOOL": f"{tmp_path}/spool"}
    run = subprocess.run(
        [sys.executable, "-c", TURN],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == ""


def test_the_memory_imports_no_database_backend_before_it_opens_one() -> None:
    backends = "[name for name in sys.modules if '.storage.sqlite.' in name or '.storage.mongo.' in name]"
    code = f"import sys, thoughtcycle.memory.memory; print(*{backends})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def test_the_command_names_packages_because_no_index_has_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        "numpy>=2.0",
        'uvicorn>=0.40; extra == "web"',
        'pyjwt[crypto]>=2.15 ; extra == "web"',
        'uvloop>=0.21; sys_platform != "win32" and extra == "web"',
        'webby>=1; extra == "website"',
    ]
    monkeypatch.setattr(extras, "requires", lambda name: lines)
    monkeypatch.setattr(sys, "executable", "/opt/my apps/python")
    assert install_command("web") == (
        '"/opt/my apps/python" -m pip install '
        '"uvicorn>=0.40" "pyjwt[crypto]>=2.15" "uvloop>=0.21; sys_platform != \'win32\'"'
    )


@pytest.mark.parametrize("extra", ["bench", "documents", "local", "mcp", "web"])
def test_each_extra_is_in_the_metadata(extra: str) -> None:
    command = install_command(extra)
    assert command.startswith(f"{sys.executable} -m pip install ") and "thoughtcycle[" not in command
    named = {name_of(quoted) for quoted in re.findall(r'"([^"]+)"', command)}
    assert named and named <= {name_of(line) for line in EXTRAS[extra]}


def test_the_line_names_who_needs_it_in_both_languages() -> None:
    error = extra_missing("documents", "'a.pdf'")
    assert error.text("en").startswith("'a.pdf' needs packages that are not installed. Run: ")
    assert error.text("pt").startswith("'a.pdf' precisa de pacotes que não estão instalados. Execute: ")
    assert all(
        "pypdf" in error.text(language) and "docx" in error.text(language) for language in ("pt", "en")
    )
