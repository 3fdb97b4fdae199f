"""Names the command that installs the packages of an extra."""

import re
import sys
from importlib.metadata import requires

from thoughtcycle.errors import ExtraMissing


def extra_missing(extra: str, name: str) -> ExtraMissing:
    """The error to raise where `name` needs packages of `extra` that are not installed."""
    return ExtraMissing(name, install_command(extra))


def install_command(extra: str) -> str:
    """Installs the packages of `extra` for this Python, from a checkout as from an installation.

    The packages are named, because `thoughtcycle` itself is on no package index.
    """
    packages = " ".join(f'"{requirement}"' for requirement in _requirements(extra))
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable
    return f"{python} -m pip install {packages}"


def _requirements(extra: str) -> list[str]:
    """The requirements of `extra` in this package's own metadata, with what they say of the platform."""
    marked = re.compile(rf"\s*(?:;|and)\s*extra\s*==\s*[\"']{extra}[\"']\s*$")
    lines = [line for line in requires("thoughtcycle") or () if marked.search(line)]
    return [marked.sub("", line).replace('"', "'") for line in lines]
