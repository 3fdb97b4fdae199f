"""An independent eye for erasures: where words still stand in all files and all stored values."""

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[2] / "thoughtcycle" / "proof" / "word_search.py"


def search(words: Sequence[str], *files: str | Path, **more: object) -> dict[str, Any]:
    """What the program tells; `more`: mongodb, owners, kept."""
    asked = {"words": words, "files": [str(file) for file in files], **more}
    command = [sys.executable, "-P", str(PROGRAM)]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def survivors(
    database_url: str,
    folder: str | Path | Iterable[str | Path],
    user: str | None,
    words: Sequence[str],
    *,
    spared: Iterable[str] = (),
) -> list[str]:
    """Where any of `words` stands, one line per place; [] when nowhere.

    Looks at the raw bytes of all files in `folder` (or several of them), at each value of each SQLite database
    among them, and at the MongoDB database of `database_url`. Of several users' rows only those count that may be
    `user`'s (None: everybody's); rows that name one of the ids `spared`, such as memories that are still active, do
    not. What was not to be read is an error. Blocking: under a second for a small database.
    """
    folders = [folder] if isinstance(folder, (str, Path)) else list(folder)
    mongodb = database_url if database_url.startswith("mongodb") else None
    owners = [user, f"{user}\x1fstore"] if user else []
    told = search(words, *folders, mongodb=mongodb, owners=owners, kept=list(spared))
    assert not told["failed"], told["failed"]
    if mongodb is None:
        names = [file["path"] for file in told["files"] if file["kind"] == "sqlite"]
        assert database_url.removeprefix("sqlite:///") in names, names
    elsewhere = {hit["word"] for hit in told["hits"] if hit.get("whose") in ("others", "kept")}
    lines = []
    for hit in told["hits"]:
        word = f"{words[hit['word']][:40]!r} as {hit['form']}"
        if "offset" in hit and hit["word"] not in elsewhere:  # bytes do not tell whose they are
            lines.append(f"{Path(hit['path']).name} at {hit['offset']}: {word}")
        elif hit.get("whose") == "own":
            lines.append(f"{hit['table']}.{hit['column']}, {hit['count']} times: {word}")
    return lines
