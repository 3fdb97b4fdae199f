"""Has the program that shares no code search for words, and says what its findings mean."""

import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from thoughtcycle.errors import StorageFailed
from thoughtcycle.memory.model import Frozen, item_space
from thoughtcycle.memory.offline import database_name
from thoughtcycle.memory.storage import parse_url

PROGRAM = Path(__file__).with_name("word_search.py")
DEV_SERVER = Path(".langgraph_api")
"""Folder in which LangGraph's development server keeps threads and the inputs of runs."""


class SearchedFile(Frozen):
    """A file whose bytes were searched, and if it is a SQLite database its values."""

    path: str
    bytes: int
    kind: Literal["sqlite", "bytes"]


class UnreadFile(Frozen):
    """A file that could not be searched."""

    path: str
    cause: str


class Place(Frozen):
    """A file, or a column of a table, in which something stood."""

    place: str
    markers: int
    """How many of the marker words."""
    words: int
    """How many of the user's own words."""


class Evidence(Frozen):
    """One search."""

    files: tuple[SearchedFile, ...]
    unread: tuple[UnreadFile, ...]
    there: tuple[Place, ...]
    """Where words of this user stand that are to be gone."""
    kept: tuple[Place, ...]
    """Where words stand that memories of this user, which stay, say as well."""


@dataclass(frozen=True)
class Scene:
    """Where is searched, and for whom."""

    url: str
    user: str
    files: tuple[Path, ...]

    @classmethod
    def of(cls, url: str, user: str, spool: Path | None = None, also: Sequence[Path] = ()) -> "Scene":
        """All files known to hold what a user said: database, its log, copies beside it, spool, dev server.

        `spool`: the folder where writes wait for the database. `also`: files that the user names, such as
        exports and backups.
        """
        files = [*also, *(sorted(spool.glob(f"{database_name(url)}-*")) if spool else ())]
        if (path := parse_url(url).path) is not None:
            beside = (one for one in path.parent.iterdir() if one.name.startswith(path.name))
            files += sorted(one for one in beside if one.is_file())
        return cls(url, user, tuple(files) + ((DEV_SERVER,) if DEV_SERVER.is_dir() else ()))

    async def search(
        self, markers: Sequence[str], words: Sequence[str], *, kept: Collection[str] = ()
    ) -> Evidence:
        """Searches everywhere; `kept`: ids of memories and cycles that stay, and may say the words."""
        asked = {
            "words": [*markers, *words],
            "files": [str(file) for file in self.files],
            "mongodb": None if parse_url(self.url).path is not None else self.url,
            "owners": [self.user, item_space(self.user)],
            "kept": [*kept],
        }
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-P", str(PROGRAM))
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
        told, trouble = await process.communicate(json.dumps(asked).encode())
        if process.returncode:
            last = trouble.decode(errors="replace").strip().rpartition("\n")[2]
            raise StorageFailed("proof_failed", place=parse_url(self.url).shown, cause=last)
        return _evidence(json.loads(told), len(markers))


def _evidence(told: Mapping[str, Any], markers: int) -> Evidence:
    hits = told["hits"]
    kept = {hit["word"] for hit in hits if hit.get("whose") == "kept"}
    anybodys = kept | {hit["word"] for hit in hits if hit.get("whose") == "others"}
    """Words of which bytes alone do not tell whose they are."""

    def places(wanted: Callable[[Mapping[str, Any]], bool]) -> tuple[Place, ...]:
        found: dict[str, set[int]] = defaultdict(set)
        for hit in filter(wanted, hits):
            where = f": {hit['table']}.{hit['column']}" if "table" in hit else ""
            found[f"{Path(hit['path']).name}{where}"].add(hit["word"])
        counts = {place: sum(word < markers for word in words) for place, words in found.items()}
        return tuple(
            Place(place=place, markers=count, words=len(found[place]) - count)
            for place, count in sorted(counts.items())
        )

    def own(hit: Mapping[str, Any]) -> bool:
        return hit["word"] not in (kept if hit.get("whose") == "own" else anybodys)

    return Evidence(
        files=told["files"],
        unread=told["failed"],
        there=places(lambda hit: hit.get("whose", "own") == "own" and own(hit)),
        kept=places(lambda hit: hit["word"] in kept and hit.get("whose") != "others"),
    )
