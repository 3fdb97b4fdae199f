"""The measures of the house, taken of a small one that lies in either layout."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

MODULES = {
    "memory/__init__.py": "",
    "memory/service.py": "from thoughtcycle.memory.model import Cycle\n\n# A comment.\n",
    "memory/model/__init__.py": "from thoughtcycle.memory.model.cycle import Cycle\n",
    "memory/model/cycle.py": '"""What a cycle is."""\nfrom thoughtcycle.memory.model import ids\n\n\nclass Cycle: ...\n',
    "memory/model/ids.py": '"""Makes ids."""\n',
    "memory/storage/base.py": """
from abc import ABC, abstractmethod


class Files(ABC):
    @abstractmethod
    def bytes_of(self, id): ...

    @abstractmethod
    def delete(self, id): ...


class SqliteFiles(Files):
    def bytes_of(self, id):
        return self._run(rows.bytes_of, id)

    def delete(self, id):
        self._check(id)
        self._run(rows.delete, id)
""",
}


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    yield import_module("benchmarks.house")
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        del sys.modules[name]


@pytest.mark.parametrize("package", [".typing/thoughtcycle", "thoughtcycle"])
def test_both_layouts_are_walked_and_facades_looked_through(house: Any, tmp_path: Path, package: str) -> None:
    for name, text in MODULES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / package).mkdir(parents=True)
    (tmp_path / package / "memory").symlink_to(tmp_path / "memory", target_is_directory=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("assert True\n" * 12)
    built = house.House(tmp_path)
    assert built.defines("Cycle").name == "memory.model.cycle"
    assert dict(house.rooms(built)) == {
        "loose files in `memory/`": 2,
        "packages in `memory/`": "2 of 1 to 3 files",
        "longest chain of imports in `memory/`": 3,  # service -> cycle -> ids
        "modules of `memory/` with a single importer": "2 of 6",
    }
    assert [value for _, value in house.port(built)] == [
        "2 in 1 classes, the largest 2",
        "1 of 2, 1 of the same name",
    ]
    told = dict(house.lines(built))
    assert told["docstrings that begin with What, Whose, Who, That of, Those"] == 1
    assert told["source lines (without blank lines and comments)"] == "29 (18)"
    assert told["test lines, per source line"] == "12, 0.41"
