"""Searches raw bytes of files and stored values of databases for words, by no code of the product.

Run as a process of its own (`python -P word_search.py`), never imported: standard library only, and pymongo
where a MongoDB address is given. Standard input is one JSON object:

    {"words": […], "files": [path, …], "mongodb": URL, "owners": [id, …], "kept": [id, …]}

A folder stands for all files in it; the files that SQLite puts beside a database are added. A row is another
user's (`others`) where it names an owner that is not among `owners`, and `kept` where it names one of those
ids. Standard output is one JSON object, in which a word is its place in `words`, never the word:

    {"files": [{"path", "bytes", "kind"}, …], "failed": [{"path", "cause"}, …],
     "hits": [{"word", "form", "path", "offset"},
              {"word", "form", "path", "table", "column", "whose", "count"}, …]}

Case, accents, `_`, hyphens, soft hyphens and characters without width are ignored, in UTF-8, UTF-16, JSON
escapes, base64, zlib, gzip and zip, also within each other. A short word, or one that could be a hexadecimal
number, counts as a whole word only: ids and vectors hold such letters by chance.
"""

import base64
import json
import mmap
import re
import sqlite3
import sys
import unicodedata
import zlib
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

SHORT = 6
"""Letters below which a word counts as a whole word only."""
LONG = 48
"""Letters beyond which any piece of a word counts: what is left of a freed page is cut anywhere."""
PIECE, MOST_PIECES = 32, 16
CHUNK, OVERLAP = 1 << 18, 1 << 16
"""Bytes that are looked at in one go, and those that are looked at again with the next ones."""
LARGEST = 1 << 26
"""Bytes up to which a compressed text is unpacked."""
DEPTH = 2
"""How many encodings within each other are undone."""
OWNER_FIELDS = ("owner", "user", "user_id", "space", "memoriesId")
LINK = "thread_id"
"""Tells the owner of a row that names none, by the rows that name both."""
IGNORED = r"_\-\u00ad\u034f\u061c\u180e\u200b-\u2015\u202a-\u202e\u2060-\u2064\u2212\ufe00-\ufe0f\ufeff"

_IGNORED = re.compile(f"[{IGNORED}]+")
_MARKS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_WIDE = re.compile(rb"\0[^\0]\0[^\0]\0")
_ESCAPE = re.compile(r'\\\\*(?:u[0-9a-fA-F]{4}(?:\\+u[0-9a-fA-F]{4})*|([nrtbf"/]))')
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{8,}(?:\r?\n[A-Za-z0-9+/_-]{8,})*")
_STANDARD = bytes.maketrans(b"-_", b"+/")
_PACKED = re.compile(rb"\x78[\x01\x5e\x9c\xda]|\x1f\x8b\x08|PK\x03\x04")
_SQLITE = b"SQLite format 3\0"
_BESIDE = ("-wal", "-shm", "-journal")


class Reading(NamedTuple):
    """Bytes read as a text, folded."""

    form: str
    text: str
    """Without case and accents, each white space as one blank."""
    plain: str
    """The same without what is ignored."""


def reading(form: str, text: str) -> Reading:
    """The folded form of a text."""
    if text.isascii():
        text = " ".join(text.lower().split())
        return Reading(form, text, text.replace("_", "").replace("-", ""))
    text = " ".join(_MARKS.sub("", unicodedata.normalize("NFKD", text).casefold()).split())
    return Reading(form, text, _IGNORED.sub("", text))


class Word:
    """One of the words, as it is looked for."""

    def __init__(self, text: str) -> None:
        plain = reading("", text).plain.strip()
        plain = plain.strip(" .,;:!?…\"'()[]") or plain
        if not plain:
            raise ValueError("a word without letters")
        hexadecimal = re.fullmatch("[0-9a-f]+", plain) and len(plain) <= LONG
        self._letters: re.Pattern[str] | None = None
        self._pieces: tuple[str, ...] = (plain, plain.replace(" ", "")) if " " in plain else (plain,)
        if plain.isalnum() and (len(plain) < SHORT or hexadecimal):
            self._letters = re.compile(f"[{IGNORED}]*".join(map(re.escape, plain)))
        elif len(plain) > LONG:
            step = max(PIECE, (len(plain) - PIECE) // MOST_PIECES)
            places = (*range(0, len(plain) - PIECE, step), len(plain) - PIECE)
            self._pieces = tuple(dict.fromkeys(plain[place : place + PIECE] for place in places))

    def count(self, found: Reading) -> int:
        """How often it stands in a text."""
        count = max(map(found.plain.count, self._pieces))
        if not count or self._letters is None:
            return count
        return sum(self._is_whole(found.text, *one.span()) for one in self._letters.finditer(found.text))

    def _is_whole(self, text: str, start: int, end: int) -> bool:
        before = text[max(0, start - 2) : start]
        in_messagepack = before[:1] == "\udcd9"  # the byte after it is the length of the text
        return (in_messagepack or not before[-1:].isalnum()) and not text[end : end + 1].isalnum()


def utf8(data: bytes) -> Reading:
    """Bytes as the text that they most likely are."""
    return reading("utf-8", data.decode("utf-8", "surrogateescape"))


def readings(data: bytes) -> Iterator[Reading]:
    """The texts that bytes may be, without anything packed in them."""
    yield utf8(data)
    if b"\\" in data:
        yield reading("json", _ESCAPE.sub(_unescaped, data.decode("utf-8", "surrogateescape")))
    if _WIDE.search(data):
        for code in ("utf-16-le", "utf-16-be"):
            yield from (reading("utf-16", data[start:].decode(code, "replace")) for start in (0, 1))


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return found[1] if found[1] in '"/' else " "
    return bytes.fromhex("".join(re.findall(r"u(.{4})", found[0]))).decode("utf-16-be", "replace")


def unpacked(data: bytes, more: bytes | mmap.mmap, start: int) -> Iterator[tuple[str, bytes]]:
    """The encoded or compressed parts of `data`, which is `more` from `start` on."""
    for found in _PACKED.finditer(data):
        place, name, bits = start + found.start(), "zlib", zlib.MAX_WBITS | 32
        if found[0] == b"PK\x03\x04":
            sizes = more[place + 26 : place + 30]
            place += 30 + int.from_bytes(sizes[:2], "little") + int.from_bytes(sizes[2:], "little")
            name, bits = "zip", -zlib.MAX_WBITS
        if text := _inflated(more, place, bits):
            yield name, text
    # One of small letters or digits only is a word, a number or an id.
    mixed = (run for run in _BASE64.findall(data) if not (run.islower() or run.isdigit()))
    runs = [run.translate(_STANDARD, b"\r\n") for run in mixed]
    for shift in range(4) if runs else ():
        parts = (run[shift:] + b"A" * (-(len(run) - shift) % 4) for run in runs)
        yield "base64", base64.b64decode(b"AAAA".join(parts))


def _inflated(data: bytes | mmap.mmap, place: int, bits: int) -> bytes:
    """As much as can be read of a compressed text that begins there."""
    reader, parts, size = zlib.decompressobj(bits), [], 0
    while place < len(data) and size < LARGEST and not reader.eof:
        try:
            parts.append(reader.decompress(data[place : place + 1024], LARGEST - size))
        except zlib.error:
            break
        size += len(parts[-1])
        place += 1024
    return b"".join(parts)


def counts(
    words: Sequence[Word],
    data: bytes,
    more: bytes | mmap.mmap | None = None,
    start: int = 0,
    depth: int = DEPTH,
) -> Counter[tuple[int, str]]:
    """Number of the word and form → how often it stands in `data`."""
    found: Counter[tuple[int, str]] = Counter()
    for one in readings(data):
        for number, word in enumerate(words):
            count = word.count(one) - (found[number, "utf-8"] if one.form == "json" else 0)
            found[number, one.form] = max(count, found[number, one.form])
    if depth:
        for name, inner in unpacked(data, data if more is None else more, start):
            for (number, form), count in counts(words, inner, depth=depth - 1).items():
                found[number, name if form == "utf-8" else f"{name} {form}"] += count
    return +found


def offset(word: Word, data: bytes) -> int:
    """Of the first letter of the word in `data`, where it stands as UTF-8."""

    def there(start: int, end: int) -> bool:
        return word.count(utf8(data[start:end])) > 0

    start, end, margin = 0, len(data), 1 << 9
    while end - start > 4 * margin:
        half = (start + end) // 2 + margin
        start, end = (start, half) if there(start, half) else (half - 2 * margin, end)
    end = start + bisect_left(range(start, end), True, key=lambda place: there(start, place))
    return start + bisect_left(range(start, end), True, key=lambda place: not there(place, end)) - 1


def in_file(words: Sequence[Word], path: str) -> Iterator[dict[str, Any]]:
    """The first place of each word in each form in the bytes of a file."""
    seen: set[tuple[int, str]] = set()
    if not Path(path).stat().st_size:
        return
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        for start in range(0, len(whole), CHUNK):
            data = whole[start : start + CHUNK + OVERLAP]
            for number, form in sorted(counts(words, data, whole, start).keys() - seen):
                seen.add((number, form))
                place = start + (offset(words[number], data) if form == "utf-8" else 0)
                yield {"word": number, "form": form, "path": path, "offset": place}


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


class Ownership:
    """Tells whose a row is."""

    def __init__(self, owners: Iterable[str], kept: Iterable[str]) -> None:
        self._owners, self._kept = frozenset(map(_bytes, owners)), frozenset(map(_bytes, kept))
        self.links: dict[str, dict[bytes, bytes]] = {}
        """Column → its value → the owner."""

    def of(self, row: Mapping[str, object]) -> str:
        """`own`, `kept` or `others`; a row that names nobody counts as the user's own."""
        owner = next((row[name] for name in OWNER_FIELDS if row.get(name) is not None), None)
        for column, owners in self.links.items():
            if owner is None and row.get(column) is not None:
                owner = owners.get(_bytes(row[column]))
        if owner is not None and self._owners and _bytes(owner) not in self._owners:
            return "others"
        short = (value for value in row.values() if isinstance(value, (str, bytes)) and len(value) < 128)
        return "kept" if self._kept and any(_bytes(value) in self._kept for value in short) else "own"


def in_rows(
    words: Sequence[Word], path: str, table: str, rows: Iterable[Mapping[str, object]], ownership: Ownership
) -> Iterator[dict[str, Any]]:
    """How often the words stand in the values of a table or collection."""
    waiting: defaultdict[tuple[str, str], list[bytes]] = defaultdict(list)
    sizes: Counter[tuple[str, str]] = Counter()
    found: Counter[tuple[str, str, int, str]] = Counter()

    def look(place: tuple[str, str]) -> None:
        data = b"\n\0\n".join(waiting.pop(place))
        del sizes[place]
        found.update({(*place, *one): count for one, count in counts(words, data).items()})

    for row in rows:
        whose = ownership.of(row)
        for column, value in row.items():
            place = (whose, column)
            for leaf in _leaves(value):
                waiting[place].append(leaf)
                sizes[place] += len(leaf)
            if sizes[place] > CHUNK:  # many values in one go
                look(place)
    for place in list(waiting):
        look(place)
    for (whose, column, number, form), count in sorted(found.items()):
        where = {"path": path, "table": table, "column": column, "whose": whose}
        yield {"word": number, "form": form, **where, "count": count}


def in_sqlite(
    words: Sequence[Word], path: str, owners: Sequence[str], kept: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The words in all values of all tables of a SQLite file, as plain SQL yields them."""
    # Without a log the file alone is everything, and to read it as one with a log makes files beside it.
    mode = "mode=ro" if Path(f"{path}-wal").exists() else "immutable=1"
    connection = sqlite3.connect(f"file:{quote(path)}?{mode}", uri=True)
    try:
        connection.text_factory = bytes
        tables = _names(connection, "SELECT name FROM sqlite_master WHERE type = 'table'")
        columns = {
            table: _names(connection, f"SELECT name FROM pragma_table_xinfo({_quoted(table)})")
            for table in tables
        }
        threads = _linked(connection, [table for table in tables if LINK in columns[table]], columns, LINK)
        for table in ("sqlite_master", *tables):
            ownership = Ownership(owners, kept)
            ownership.links[LINK] = threads
            ownership.links.update(_parents(connection, table, columns))
            rows = connection.execute(f"SELECT * FROM {_quoted(table)}")
            names = [column[0] for column in rows.description]
            named = (dict(zip(names, row, strict=True)) for row in rows)
            yield from in_rows(words, path, table, named, ownership)
    finally:
        connection.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _names(connection: sqlite3.Connection, query: str) -> list[str]:
    return [name.decode() for (name,) in connection.execute(query)]


def _linked(
    connection: sqlite3.Connection, tables: Iterable[str], columns: Mapping[str, Sequence[str]], key: str
) -> dict[bytes, bytes]:
    """The owners that rows of `tables` name beside their `key`."""
    found: dict[bytes, bytes] = {}
    for table in tables:
        for owner in (name for name in OWNER_FIELDS if name in columns[table]):
            query = f"SELECT DISTINCT {_quoted(key)}, {_quoted(owner)} FROM {_quoted(table)}"
            rows = connection.execute(f"{query} WHERE {_quoted(owner)} IS NOT NULL")
            found.update((_bytes(value), _bytes(name)) for value, name in rows)
    return found


def _parents(
    connection: sqlite3.Connection, table: str, columns: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, dict[bytes, bytes]]]:
    """Column → its values → owner, by the rows that a foreign key of the table leads to."""
    for row in connection.execute(f"PRAGMA foreign_key_list({_quoted(table)})").fetchall():
        parent, column, key = (bytes(name).decode() if name else "" for name in row[2:5])
        if key and parent in columns and not set(OWNER_FIELDS).intersection(columns[table]):
            yield column, _linked(connection, [parent], columns, key)


def in_mongodb(
    words: Sequence[Word], url: str, owners: Sequence[str], kept: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The words in all fields of all documents of a MongoDB database that are not another user's."""
    from pymongo import MongoClient

    with MongoClient[dict[str, Any]](url) as client:
        database = client.get_default_database("thoughtcycle")
        names = sorted(name for name in database.list_collection_names() if not name.startswith("system."))
        ownership = Ownership(owners, kept)
        threads = ownership.links.setdefault(LINK, {})
        for name in names:
            for found in database[name].find(
                {LINK: {"$ne": None}}, {LINK: 1, **dict.fromkeys(OWNER_FIELDS, 1)}
            ):
                owner = next((found[field] for field in OWNER_FIELDS if found.get(field)), None)
                if owner is not None and found.get(LINK) is not None:
                    threads[_bytes(found[LINK])] = _bytes(owner)
        theirs = {field: {"$in": [*owners, None]} for field in OWNER_FIELDS} if owners else {}
        for name in names:
            yield from in_rows(words, database.name, name, database[name].find(theirs), ownership)


def _leaves(value: object) -> Iterator[bytes]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield _bytes(name)
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield _bytes(value)


def files(given: Iterable[str]) -> Iterator[str]:
    """The files that were named, those in the folders that were named, and SQLite's beside them."""
    for path in given:
        inside = (str(one) for one in sorted(Path(path).rglob("*")) if one.is_file())
        beside = (path + end for end in _BESIDE if Path(path + end).is_file())
        yield from inside if Path(path).is_dir() else (path, *beside)


def report(asked: Mapping[str, Any]) -> dict[str, Any]:
    """All that was found."""
    words = [Word(text) for text in asked["words"]]
    whose = (asked.get("owners") or (), asked.get("kept") or ())
    told: dict[str, list[dict[str, Any]]] = {"files": [], "failed": [], "hits": []}
    for path in dict.fromkeys(files(asked.get("files") or ())):
        try:
            told["hits"] += in_file(words, path)
            with Path(path).open("rb") as file:
                kind = "sqlite" if file.read(len(_SQLITE)) == _SQLITE else "bytes"
            told["files"].append({"path": path, "bytes": Path(path).stat().st_size, "kind": kind})
            if kind == "sqlite":
                told["hits"] += in_sqlite(words, path, *whose)
        except (OSError, sqlite3.Error) as error:
            told["failed"].append({"path": path, "cause": f"{type(error).__name__}: {error}"})
    if asked.get("mongodb"):
        told["hits"] += in_mongodb(words, asked["mongodb"], *whose)
    return told


if __name__ == "__main__":
    json.dump(report(json.load(sys.stdin)), sys.stdout)
