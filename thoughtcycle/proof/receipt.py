"""The receipt of a proof: what was searched and found, and the words only as salted hashes."""

import base64
import hashlib
import secrets
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, ValidationError

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model import Frozen
from thoughtcycle.prompts.forms import size
from thoughtcycle.prompts.loader import Language, texts
from thoughtcycle.proof.evidence import Evidence, Place, UnreadFile
from thoughtcycle.proof.words import folded

Act = Literal["erase", "forget-user"]
Result = Literal["gone", "found", "unread", "blind", "waiting"]
"""`unread`: a file could not be searched. `blind`: what was planted was not found before. `waiting`: the
erasure itself waits for a turn under way."""


COST = {"n": 2**15, "r": 8, "p": 3}
"""Of a hash, as OWASP's Password Storage Cheat Sheet has it: 32 MB and a fifth of a second."""

_MOST_MEMORY = 2**26


class WordHashes(Frozen):
    """Words as salted hashes (scrypt, RFC 7914)."""

    salt: str
    """Base64."""
    hashes: tuple[str, ...]
    n: int
    r: int
    p: int

    @classmethod
    def of(cls, words: Iterable[str]) -> "WordHashes":
        """The hashes of `words`, in no order that tells anything."""
        empty = cls(salt=base64.b64encode(secrets.token_bytes(16)).decode(), hashes=(), **COST)
        return empty.model_copy(update={"hashes": tuple(sorted({empty.hash(word) for word in words}))})

    def hash(self, word: str) -> str:
        """The hash of a word, whatever its case and accents."""
        salt, costs = base64.b64decode(self.salt), {"n": self.n, "r": self.r, "p": self.p}
        key = hashlib.scrypt(folded(word).encode(), salt=salt, maxmem=_MOST_MEMORY, **costs)
        return base64.b64encode(key).decode()


class ProofReceipt(Frozen):
    """The record of a proof of forgetting: its searches and their counts."""

    format: Literal["thoughtcycle proof 1"] = "thoughtcycle proof 1"
    program: str = f"thoughtcycle {version('thoughtcycle')}"
    at: AwareDatetime
    act: Act
    user: str
    database: str
    """The whole path of the file, or the address without user and password."""
    result: Result
    says: tuple[str, ...] = ()
    """The receipt in the words of its user's language."""
    markers: tuple[str, ...]
    """The words that were planted, and erased with the user's own."""
    words: WordHashes
    before: Evidence
    after: Evidence

    def text(self, language: Language) -> str:
        """The receipt as a person reads it."""
        found, after = texts(language, "proof"), self.after
        sizes = sum(file.bytes for file in after.files)
        counts = {
            "files": len(after.files),
            "size": size(sizes, language),
            "words": len(self.words.hashes),
            "before": len(self.before.there),
        }
        lines = [found.fill("searched", **counts), found.fill(self.result, places=_named(after.there))]
        if after.kept:
            lines.append(found.fill("kept", places=_named(after.kept)))
        lines += [found.fill("not_read", path=file.path, cause=file.cause) for file in after.unread]
        return "\n".join((*lines, found["reach"], texts(language, "erasure")["out_of_reach"]))

    def without_folders(self) -> "ProofReceipt":
        """The same with bare names of database and files: where they lie is not the user's to know."""
        database = self.database.rpartition("/")[2]
        return self.model_copy(
            update={"database": database, "before": _bare(self.before), "after": _bare(self.after)}
        )


def _bare(found: Evidence) -> Evidence:
    files = tuple(file.model_copy(update={"path": Path(file.path).name}) for file in found.files)
    unread = tuple(
        UnreadFile(path=name, cause=file.cause.replace(file.path, name))
        for file in found.unread
        for name in (Path(file.path).name,)
    )
    return found.model_copy(update={"files": files, "unread": unread})


def _named(places: Iterable[Place]) -> str:
    return ", ".join(place.place for place in places)


def read_receipt(path: Path) -> ProofReceipt:
    """The receipt in a file; InputRefused('proof_unreadable') for anything else."""
    try:
        return ProofReceipt.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise InputRefused("proof_unreadable", path=repr(str(path))) from error
