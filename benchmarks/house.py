"""Structure of the code: folders, imports, `Memory`, the storage port, the path of a save, the checkers' view."""

import ast
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.language_server import LanguageServer
from benchmarks.machine import table
from support.modules import modules

HERE = Path(__file__).parents[1]
WALKED = ("hold", "create_thought_cycle", "MemoryDraft", "CycleMessage", "Context")
LAYOUT = {getattr(tokenize, name) for name in ("COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER")}
POOR_START = re.compile(r"(What|Whose|Who|That of|Those)\b")

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Row: TypeAlias = tuple[str, object]


@dataclass(frozen=True)
class Module:
    """A module of the product."""

    name: str
    """Without `thoughtcycle.`; a package's own name for its `__init__`."""
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def is_facade(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def package(self) -> str:
        return self.name if self.is_facade else self.name.rpartition(".")[0]

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))

    def imports(self) -> Iterator[tuple[str, str | None]]:
        """Each module of the product that it imports, with the name taken from it."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("thoughtcycle"):
                source = (node.module or "").removeprefix("thoughtcycle").removeprefix(".")
                yield from ((source, alias.name) for alias in node.names)
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names if alias.name.startswith("thoughtcycle.")]
                yield from ((name.removeprefix("thoughtcycle."), None) for name in names)


def _short(name: str) -> str:
    return name.removesuffix(".__init__").removeprefix("thoughtcycle").removeprefix(".")


class House:
    """The modules of a checkout, whether its folders are linked into one package or into `.typing`."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        linked = self.root / ".typing" / "thoughtcycle"
        self.base = linked if linked.exists() else self.root / "thoughtcycle"
        found = [Module(_short(name), path.resolve()) for name, path in modules(self.base).items()]
        self.modules = {module.name: module for module in found}

    def below(self, package: str) -> list[Module]:
        """The modules of a package and of those inside it."""
        return [module for module in self.modules.values() if f"{module.name}.".startswith(f"{package}.")]

    def defines(self, name: str) -> Module:
        """The one module with a class or function `name` at its top."""
        defining = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        (found,) = (
            module
            for module in self.modules.values()
            for node in module.tree.body
            if isinstance(node, defining) and node.name == name
        )
        return found

    def _source(self, module: str, name: str | None) -> str:
        """The module that an import is about: a facade is looked through."""
        if name is not None and f"{module}.{name}".lstrip(".") in self.modules:
            return f"{module}.{name}".lstrip(".")
        if name is not None and module in self.modules and self.modules[module].is_facade:
            for source, taken in self.modules[module].imports():
                if taken == name and source != module:
                    return self._source(source, name)
        return module

    @cached_property
    def imported(self) -> dict[str, set[str]]:
        """The imports of each module, those of facades aside."""
        return {
            module.name: {self._source(source, name) for source, name in module.imports()} - {module.name}
            for module in self.modules.values()
            if not module.is_facade
        }

    def depth(self, package: str) -> int:
        """The number of modules in the longest chain of imports within `package`."""
        inside = {module.name for module in self.below(package)}
        depths: dict[str, int] = {}

        def down(name: str) -> int:
            if name not in depths:
                depths[name] = 0  # a cycle ends here
                below = self.imported.get(name, set()) & inside
                depths[name] = 1 + max(map(down, below), default=0)
            return depths[name]

        return max(map(down, inside))


def rooms(house: House) -> list[Row]:
    memory = house.below("memory")
    sizes = Counter(module.package for module in memory)
    loose = sizes.pop("memory")
    importers = Counter(source for sources in house.imported.values() for source in sources)
    single = [module for module in memory if importers[module.name] == 1]
    spread = f"{len(sizes)} of {min(sizes.values())} to {max(sizes.values())} files"
    return [
        ("loose files in `memory/`", loose),
        ("packages in `memory/`", spread),
        ("longest chain of imports in `memory/`", house.depth("memory")),
        ("modules of `memory/` with a single importer", f"{len(single)} of {sum(sizes.values()) + loose}"),
    ]


def _is_abstract(function: Function) -> bool:
    names = (getattr(one, "id", getattr(one, "attr", "")) for one in function.decorator_list)
    return "abstractmethod" in names


def _one_call(function: Function) -> ast.Call | None:
    """The call that is all of the body."""
    body = [node for node in function.body if not isinstance(getattr(node, "value", None), ast.Constant)]
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return None
    value = body[0].value
    value = value.value if isinstance(value, ast.Await) else value
    return value if isinstance(value, ast.Call) else None


def _names(node: ast.AST) -> set[str]:
    return {getattr(one, "attr", getattr(one, "id", "")) for one in ast.walk(node)}


def port(house: House) -> list[Row]:
    methods = [
        (cls, node)
        for module in house.below("memory.storage")
        for cls in module.classes()
        for node in cls.body
        if isinstance(node, Function)
    ]
    abstract = [(cls.name, function.name) for cls, function in methods if _is_abstract(function)]
    ports = Counter(cls for cls, _ in abstract)
    names = {name for _, name in abstract}
    backend = [one for _, one in methods if one.name in names and not _is_abstract(one)]
    calls = [(one.name, call) for one in backend if (call := _one_call(one)) is not None]
    same = sum(name in _names(call) for name, call in calls)
    return [
        (
            "methods of the storage port",
            f"{len(abstract)} in {len(ports)} classes, the largest {max(ports.values())}",
        ),
        (
            "backend methods whose body is one call",
            f"{len(calls)} of {len(backend)}, {same} of the same name",
        ),
    ]


def ways(house: House) -> list[Row]:
    """The code that a save, a message and a turn enter; the names on `Memory`."""
    defining = {name: f"thoughtcycle.{house.defines(name).name}" for name in WALKED}
    program = Path(__file__).with_name("house_walk.py")
    with tempfile.TemporaryDirectory() as folder:
        mine = {"THOUGHTCYCLE_DB": f"sqlite:///{folder}/m.db", "THOUGHTCYCLE_SPOOL": f"{folder}/spool"}
        others = {k: v for k, v in os.environ.items() if not k.startswith(("THOUGHTCYCLE_", "OPENAI_"))}
        command: list[str | Path] = [_python(house.root), program, house.root, json.dumps(defining)]
        walk = subprocess.run(command, cwd=folder, env=others | mine, check=True, stdout=subprocess.PIPE)
    told = json.loads(walk.stdout)
    memory, save, cycle, turn = (told[name] for name in ("memory", "save", "cycle", "turn"))
    return [
        ("names on `Memory`", "{public} public, {private} private, from {classes} classes".format(**memory)),
        ("`Memory.save` of one fact enters", "{files} files, {functions} functions".format(**save)),
        ("a turn that keeps a fact enters", "{files} files, {functions} functions".format(**turn)),
        (
            "the user's message is stored",
            "{frames} frames deep in {stack_files} files on {threads} threads".format(**cycle),
        ),
    ]


def _python(root: Path) -> Path:
    own = root / ".venv" / "bin" / "python"
    return own if own.exists() else Path(sys.executable)


def checkers(house: House) -> list[Row]:
    bin_folder = _python(house.root).parent
    run = subprocess.run(
        [bin_folder / "pyright", "--outputjson"], check=False, cwd=house.root, stdout=subprocess.PIPE
    )
    summary = json.loads(run.stdout)["summary"]
    cycle = house.defines("Cycle")
    line = next(node.lineno for node in cycle.classes() if node.name == "Cycle")
    with LanguageServer([str(bin_folder / "pyright-langserver"), "--stdio"], house.root) as server:
        found = server.references(cycle.path, line - 1, len("class "))
    real = {Path(place).resolve() for place in found}
    return [
        (
            "pyright examines",
            f"{summary['filesAnalyzed']} of {len(house.modules)} modules, {summary['errorCount']} errors",
        ),
        ("references of `Cycle` that an editor finds from its file", f"{len(found)} in {len(real)} files"),
    ]


def _docstrings(tree: ast.Module) -> Iterator[str]:
    """The docstrings of modules, classes, functions and attributes."""
    for node in ast.walk(tree):
        value = getattr(node, "value", None) if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value.strip()


def _code_lines(text: str) -> int:
    """Lines that are neither blank nor a comment alone."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return len({n for one in tokens if one.type not in LAYOUT for n in range(one.start[0], one.end[0] + 1)})


def lines(house: House) -> list[Row]:
    texts = [module.text for module in house.modules.values()]
    poor = sum(
        bool(POOR_START.match(one)) for module in house.modules.values() for one in _docstrings(module.tree)
    )
    source = sum(len(text.splitlines()) for text in texts)
    tests = sum(len(path.read_text("utf-8").splitlines()) for path in (house.root / "tests").rglob("*.py"))
    return [
        ("docstrings that begin with What, Whose, Who, That of, Those", poor),
        ("source lines (without blank lines and comments)", f"{source:,} ({sum(map(_code_lines, texts)):,})"),
        ("longest module", f"{max(len(text.splitlines()) for text in texts)} lines"),
        ("test lines, per source line", f"{tests:,}, {tests / source:.2f}"),
    ]


def run(root: Path | None = None) -> str:
    """The measures of HOUSE for the checkout `root`, by default the one this file belongs to."""
    house = House(root or HERE)
    measures: list[Any] = [rooms, ways, port, checkers, lines]
    return table(("measure", "value"), [row for measure in measures for row in measure(house)])
