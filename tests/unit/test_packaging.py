"""What packaging forgets: packages not listed, links not committed, prompts not shipped, floors broken."""

import ast
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TOPS = ("cli", "evals", "graph", "integrations", "memory", "mind", "nodes", "prompts", "web")
FLOORS = {
    "prompts": {"prompts"},
    "memory": {"memory", "prompts"},
    "mind": {"mind", "prompts", "memory.records"},
    "nodes": {"nodes", "mind", "memory", "prompts"},
    "graph": {"graph", "nodes", "mind", "memory", "prompts"},
    "evals": {"evals", "graph", "nodes", "mind", "memory", "prompts"},
    "integrations": {"integrations", "graph", "nodes", "mind", "memory", "prompts"},
    "web": {"web", "evals", "graph", "nodes", "mind", "memory", "prompts"},
    "cli": {"cli", "web", "integrations", "evals", "graph", "nodes", "mind", "memory", "prompts"},
}


def modules() -> list[Path]:
    return sorted(path for top in TOPS for path in (ROOT / top).rglob("*.py"))


def test_every_folder_with_code_is_a_listed_package() -> None:
    on_disk = {path.parent.relative_to(ROOT) for path in modules()}
    setuptools = PROJECT["tool"]["setuptools"]
    assert {f"thoughtcycle.{'.'.join(path.parts)}" for path in on_disk} == set(setuptools["packages"])
    assert setuptools["package-dir"] == {
        f"thoughtcycle.{'.'.join(path.parts)}": str(path) for path in on_disk
    }


def test_type_checkers_see_every_top_folder() -> None:
    links = {path.name: path.resolve() for path in (ROOT / ".typing" / "thoughtcycle").iterdir()}
    assert links == {top: ROOT / top for top in TOPS}


def test_there_is_no_root_package_and_tests_are_none() -> None:
    assert not (ROOT / "__init__.py").exists()
    packages = ROOT / "tests" / "packages"
    assert not [path for path in (ROOT / "tests").rglob("__init__.py") if packages not in path.parents]


def test_the_wheel_holds_every_module_and_text(tmp_path: Path) -> None:
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "build", "*.egg-info", "__pycache__", ".*_cache", "tests"
    )
    shutil.copytree(ROOT, source, ignore=ignored, symlinks=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--wheel-dir", tmp_path, source], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {
        f"thoughtcycle/{path.relative_to(ROOT)}"
        for top in TOPS
        for path in (ROOT / top).rglob("*")
        if path.suffix in (".py", ".md", ".toml", ".typed", ".html", ".css", ".js", ".svg", ".txt")
    }
    assert held == wanted


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_point_down(path: Path) -> None:
    allowed = FLOORS[path.relative_to(ROOT).parts[0]]
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"relative import in {path}"
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.startswith("thoughtcycle."):
                target = name.removeprefix("thoughtcycle.")
                assert any(target == floor or target.startswith(f"{floor}.") for floor in allowed), name


@pytest.mark.parametrize("path", sorted((ROOT / "memory").rglob("*.py")), ids=lambda path: path.name)
def test_memory_imports_neither_langgraph_nor_a_model(path: Path) -> None:
    text = path.read_text()
    assert (
        "import langgraph" not in text and "from langgraph" not in text and "langchain" not in _imports(text)
    )


def _imports(text: str) -> str:
    tree = ast.parse(text)
    found = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    found += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return " ".join(found)


def test_every_module_opens_with_one_sentence() -> None:
    for path in modules():
        docstring = ast.get_docstring(ast.parse(path.read_text()))
        empty_package = path.name == "__init__.py" and not path.read_text().strip()
        assert docstring or empty_package, path


def test_changelog_and_version_agree() -> None:
    version = PROJECT["project"]["version"]
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
