"""The modules of the product, by name: the package with its links followed."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "thoughtcycle"


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    """Every module's dotted name and its file; `rglob` would not follow the links to the top folders."""
    found = {}
    for folder, _, names in os.walk(package, followlinks=True):
        for name in names:
            if name.endswith(".py"):
                path = Path(folder, name)
                found[".".join(path.relative_to(package.parent).with_suffix("").parts)] = path
    return dict(sorted(found.items()))
