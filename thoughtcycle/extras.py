"""Names the command that installs the packages of an extra."""

import re
import sys
from importlib.metadata import requires

from thoughtcycle.errors import ExtraMissing


def extra_missing(extra: str, name: str) -> ExtraMissing:
    """The error to raise where `name` needs packages of `extra` that are not installed."""
    return ExtraMissing(name, install_command(extra))


def install_command(extra: str) -> str:
    """The command that installs the packages of `extra` for this Python, in a checkout or an installation.

    It names the packages of this package's metadata, because `thoughtcycle` itself is on no package index.
    """
    marked = re.compile(rf"\s*(?:;|and)\s*extra\s*==\s*[\"']{extra}[\"']\s*$")
    lines = (line for line in requires("thoughtcycle") or () if marked.search(line))
    packages = " ".join('"{}"'.format(marked.sub("", line).replace('"', "'")) for line in lines)
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable
    return f"{python} -m pip install {packages}"
