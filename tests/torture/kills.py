"""kill -9 at random moments: nothing acknowledged is lost, nothing is doubled, everything fits together."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any, get_args

from support.doctor import problems
from support.properties import QuickEmbedder
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft, MemoryRecord, Status, utc_now
from torture.children import Child, Tell, done
from torture.imports import export

USERS = ("ana", "bia")
PER_DATABASE = 20
"""Kills after which a new database is begun: each check reads everything."""
KEYS = (None, None, None, "city", "diet")
EVERY = get_args(Status)
IMPORTED = {file: tuple(f"imported {file} {number}" for number in range(10)) for file in "012"}
"""What each import file holds."""


@dataclass
class Known:
    """What one user's database must hold."""

    memories: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Id → status and content, as last acknowledged or seen."""
    cycles: list[str] = field(default_factory=list)
    """Acknowledged, in order."""
    erased: list[str] = field(default_factory=list)
    """What memories said that are erased."""


@dataclass
class Result:
    """What came of it."""

    kills: int = 0
    acknowledged: int = 0
    faults: list[str] = field(default_factory=list)


def run(new_url: Callable[[], str], folder: Path, kills: int, seed: int) -> Result:
    """Kills `kills` writers, each in the middle of something, and looks at what each left behind.

    `folder` takes the files that they import.
    """
    chance, result = random.Random(seed), Result()
    done(lambda tell: export(folder, IMPORTED))
    while result.kills < kills and not result.faults:
        url, known = new_url(), {user: Known() for user in USERS}
        for _ in range(min(PER_DATABASE, kills - result.kills)):
            user = chance.choice(USERS)
            begun = _killed(url, folder, user, chance, known[user], result)
            result.kills += 1
            result.faults += _checked(url, user, known[user], begun)
            if result.faults:
                break
    return result


def _killed(
    url: str, folder: Path, user: str, chance: random.Random, known: Known, result: Result
) -> dict[str, Any] | None:
    """Lets a writer acknowledge some changes and kills it; what it had begun and not finished."""
    seed, wanted = chance.getrandbits(32), chance.randint(1, 25)
    child = Child(lambda tell: write(tell, url, folder, user, seed))
    begun: dict[str, Any] | None = None
    acknowledged, started, killed = 0, 0.0, False
    for line in child.lines():
        if line["what"] == "failed":
            result.faults.append(line["error"])
            break
        started = started or monotonic()
        if line["what"] == "begun":
            begun = line
            continue
        begun = None
        _learn(known, line)
        acknowledged += 1
        if acknowledged == wanted:
            sleep(chance.uniform(0, 2 * (monotonic() - started) / wanted))
            child.kill()  # what it acknowledged meanwhile is still in the pipe
            killed = True
    if child.wait() != -9 or not killed:
        result.faults.append("the writer ended by itself")
    result.acknowledged += acknowledged
    return begun


def _learn(known: Known, line: dict[str, Any]) -> None:
    known.erased += [text for text in line.get("erased", ()) if not text.startswith("imported")]
    known.memories |= {id: (status, content) for id, status, content in line.get("memories", ())}
    if "cycle" in line:
        known.cycles.append(line["cycle"])


async def write(tell: Tell, url: str, folder: Path, user: str, seed: int) -> None:
    """Changes one thing after the other, telling before and after."""
    chance = random.Random(seed)
    async with Memory.open(url, embeddings=QuickEmbedder()) as memory:
        for number in range(10_000):
            records = await memory.list(user, statuses=("active", "archived", "hidden"))
            current = [record for record in records if record.current is None]
            await _one(tell, memory, folder, user, current, chance, f"w{seed}q{number}z")


async def _one(
    tell: Tell,
    memory: Memory,
    folder: Path,
    user: str,
    current: list[MemoryRecord],
    chance: random.Random,
    word: str,
) -> None:
    """One change, told before and after."""

    def begin(op: str, *contents: str, ids: list[str] | None = None) -> None:
        tell("begun", op=op, ids=ids or [], contents=contents)

    active = [record.id for record in current if record.status == "active" and not record.pinned]
    some = chance.sample(active, min(len(active), 2))
    op = chance.choice(
        ("save", "save", "update", "hide", "undo", "archive", "restore", "talk", "import", "erase")
    )
    match op:
        case "save":
            drafts = [_draft(f"{word}r{part}", chance) for part in range(chance.choice((1, 1, 4)))]
            held = [record.id for record in current if record.key in {draft.key for draft in drafts} - {None}]
            begin(op, *(str(draft.content) for draft in drafts), ids=held)
            saved = await memory.save(user, drafts)
            stored = {one.record.id: one.record for one in saved}
            tell("done", memories=_told(list(stored.values())))
        case "update" if some:
            begin(op, word, ids=some[:1])
            tell("done", memories=_told([await memory.update(user, some[0], content=word)]))
        case "erase" if some:
            gone = _with_twins(current, some)
            begin(op, ids=list(gone))
            receipt = await memory.erase(user, some)
            assert receipt.left == (), receipt
            tell("done", memories=[(id, "erased", "null") for id in gone], erased=list(gone.values()))
        case "hide" | "archive" if some:
            begin(op, ids=some)
            tell("done", memories=_told(await getattr(memory, op)(user, some)))
        case "restore":
            aside = [record.id for record in current if record.status == "archived" and record.key is None]
            begin(op, ids=aside[:1])
            tell("done", memories=_told(await memory.restore(user, aside[:1])))
        case "undo":
            free = [record.id for record in current if record.key is None]
            if free:
                id = chance.choice(free)
                begin(op, ids=[id])
                record = (await memory.undo(user, id)).record
                tell("done", memories=_told([record] if record is not None else []))
        case "talk":
            begin(op)
            cycle = await memory.record_cycle(user, f"chat {user}", word, "sim", at=utc_now(), channel="t")
            tell("done", memories=[], cycle=cycle.id)
        case "import":
            file = chance.choice(list(IMPORTED))
            begin(op, *IMPORTED[file])
            await memory.import_file(user, folder / f"{file}.jsonl")
            there = await memory.list(user, statuses=EVERY)
            brought = [one for one in there if one.current is None and one.text in IMPORTED[file]]
            tell("done", memories=_told(brought))


def _with_twins(current: list[MemoryRecord], ids: list[str]) -> dict[str, str]:
    """Id and text of these memories and of those out of sight that say the same or have their key."""
    given = [record for record in current if record.id in ids]
    texts = {record.text for record in given}
    keys = {record.key for record in given} - {None}
    aside = [record for record in current if record.status in ("archived", "hidden")]
    twins = [record for record in aside if record.text in texts or record.key in keys]
    return {record.id: record.text for record in (*given, *twins)}


def _draft(content: str, chance: random.Random) -> MemoryDraft:
    return MemoryDraft(content=content, key=chance.choice(KEYS), bindings=("tema",))


def _told(records: list[MemoryRecord]) -> list[tuple[str, str, str]]:
    return [(record.id, record.status, record.text) for record in records]


def _checked(url: str, user: str, known: Known, begun: dict[str, Any] | None) -> list[str]:
    """What is wrong; `known` becomes what is there now."""
    (seen,) = done(lambda tell: _look(tell, url, user))
    faults = [f"doctor: {problem}" for problem in seen["problems"]]
    there = {id: (status, content) for id, status, content, _ in seen["memories"]}
    touched = set(begun["ids"]) if begun else set()
    begun_contents = set(begun["contents"]) if begun else set()
    for id, expected in known.memories.items():
        if there.get(id) != expected and id not in touched:
            faults.append(f"{id} was {expected}, is {there.get(id)}; begun: {begun}")
    for id, status, content, current in seen["memories"]:
        former = current is not None or status == "erased"
        if id not in known.memories and not former and content not in begun_contents:
            faults.append(f"{id} ({status}, {content!r}) was never begun")
    contents = [content for _, status, content, current in seen["memories"] if status == "active"]
    faults += [f"{content!r} is there twice" for content in {*contents} if contents.count(content) > 1]
    if (seen["path"][: len(known.cycles)] != known.cycles) or len(seen["path"]) > len(known.cycles) + 1:
        faults.append(f"cycles {known.cycles} are {seen['path']}")
    aside = [content for _, status, content, current in seen["memories"] if status == "archived"]
    if seen["found"] != sorted(contents) and (contents or not {*seen["found"]} <= {*aside}):
        faults.append(f"active are {sorted(contents)}, a search finds {seen['found']}")
    faults += [f"{name} still holds {text!r}" for name, text in _remains(url, known.erased)]
    current = {id for id, _, _, current in seen["memories"] if current is None}
    known.memories = {id: one for id, one in there.items() if id in current}
    known.cycles = seen["path"]
    return faults


def _remains(url: str, erased: list[str]) -> list[tuple[str, str]]:
    """Erased contents that a database file still holds."""
    file = Path(url.removeprefix("sqlite:///"))
    files = [path for path in file.parent.glob(f"{file.name}*") if url.startswith("sqlite")]
    return [(path.name, text) for path in files for text in erased if text.encode() in path.read_bytes()]


async def _look(tell: Tell, url: str, user: str) -> None:
    async with Memory.open(url, embeddings=QuickEmbedder()) as memory:
        await memory.erase_due(user=user)  # as every start does: what was begun is completed
        records = await memory.list(user, statuses=EVERY)
        path = await memory.conversation(user, f"chat {user}", limit=100_000)
        hits = await memory.search(user, "tema", limit=100_000, floor=0.0)
        tell(
            "seen",
            memories=[(one.id, one.status, one.text, one.current) for one in records],
            path=[cycle.id for cycle in path],
            found=sorted(hit.record.text for hit in hits),
            problems=await problems(memory.core.storage, user),
        )
