"""What packaging forgets: modules and texts that a build leaves out, with links and without."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from support.modules import PACKAGE, ROOT, modules

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINKS = ("graph", "nodes", "prompts")
SHIPPED = (".py", ".md", ".toml", ".typed", ".html", ".css", ".js", ".svg", ".txt")


def test_the_links_lead_to_the_top_folders_and_are_relative() -> None:
    links = {path.name: path.readlink() for path in PACKAGE.iterdir() if path.is_symlink()}
    assert links == {name: Path("..", name) for name in LINKS}


def test_there_is_no_root_package_and_tests_are_none() -> None:
    assert not (ROOT / "__init__.py").exists()
    packages = ROOT / "tests" / "packages"
    assert not [path for path in (ROOT / "tests").rglob("__init__.py") if packages not in path.parents]


def _source(folder: Path, *, links: bool) -> Path:
    """A copy of the checkout; without links each is a file that holds its target, as some systems leave it."""
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "build", "*.egg-info", "__pycache__", ".*_cache", "tests"
    )
    source = shutil.copytree(ROOT, folder / "source", ignore=ignored, symlinks=True)
    for name in () if links else LINKS:
        link = source / "thoughtcycle" / name
        target = str(link.readlink())
        link.unlink()
        link.write_text(target)
    return source


@pytest.mark.parametrize("links", [True, False])
def test_the_wheel_holds_every_module_and_text(tmp_path: Path, links: bool) -> None:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    source = _source(tmp_path, links=links)
    subprocess.run([*pip, "--wheel-dir", tmp_path, source], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {
        str(Path(folder, name).relative_to(ROOT))
        for folder, _, names in os.walk(PACKAGE, followlinks=True)
        for name in names
        if Path(name).suffix in SHIPPED
    }
    assert held == wanted
    code = {name for name in held if name.endswith(".py")}
    assert code == {str(path.relative_to(ROOT)) for path in modules().values()}


def test_every_module_opens_with_one_sentence() -> None:
    for path in modules().values():
        docstring = ast.get_docstring(ast.parse(path.read_text()))
        empty_package = path.name == "__init__.py" and not path.read_text().strip()
        assert docstring or empty_package, path


def test_every_public_name_is_there() -> None:
    import thoughtcycle

    for name in thoughtcycle.__all__:
        assert getattr(thoughtcycle, name) is not None
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = thoughtcycle.nothing_such


def test_changelog_and_version_agree() -> None:
    version = PROJECT["project"]["version"]
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
