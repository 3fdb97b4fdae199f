"""Many processes on one database: no update is lost, everybody finds what anybody saved, nobody is refused."""

import os
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from support.doctor import problems
from support.properties import QuickEmbedder
from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft, Status, utc_now
from torture.children import Child, Tell, done
from torture.imports import TOLD, export

USERS = ("ana", "bia", "caio", "duda")
HOT = 2
"""Memories of a user that all processes change at once."""
IMPORTED = {f"i{file}": tuple(f"keep i{file}n{number}x" for number in range(5)) for file in range(3)}
"""What each import file holds; all processes import all of them."""
OPS = (
    "keep",
    "keep",
    "update",
    "update",
    "hide",
    "undo",
    "archive",
    "pin",
    "erase",
    "import",
    "talk",
    "meet",
)
BOARD = "board"
BETWEEN = {
    "memory_not_active",
    "memory_unknown",
    "memory_erased",
    "memory_pinned",
    "undo_replaced",
    "restore_replaced",
}
"""What another process may have brought about meanwhile: it is told, and nothing was lost."""


@dataclass
class Result:
    """What came of it."""

    operations: int = 0
    erasures: int = 0
    imports: int = 0
    overtaken: int = 0
    """Refused because another process had changed the same memory before."""
    faults: list[str] = field(default_factory=list)


def run(url: str, folder: Path, processes: int, operations: int, seed: int) -> Result:
    """`processes` writers make `operations` changes in all.

    `folder` takes what they import and the board on which they post what they saved.
    """
    done(lambda tell: export(folder, IMPORTED))
    (folder / BOARD).touch()
    share = operations // processes
    children = [
        Child(lambda tell, me=number: _busy(tell, url, folder, me, share, seed))
        for number in range(processes)
    ]
    result, lines = Result(), [line for child in children for line in child.lines()]
    for child in children:
        if child.wait() != 0:
            result.faults.append("a process failed")
    result.faults += [line["error"] for line in lines if line["what"] in ("failed", "fault")]
    told = [line for line in lines if line["what"] == "done"]
    result.operations = len(told)
    ops = Counter(line["op"] for line in told)
    result.erasures, result.imports, result.overtaken = ops["erase"], ops["import"], ops["overtaken"]
    for user in USERS:
        (seen,) = done(lambda tell, user=user: _look(tell, url, user))
        result.faults += _compared(user, [line for line in told if line["user"] == user], seen)
    return result


async def _busy(tell: Tell, url: str, folder: Path, me: int, share: int, seed: int) -> None:
    chance = random.Random(seed * 1_000 + me)
    async with Memory.open(url, embeddings=QuickEmbedder()) as memory:
        for number in range(share):
            user, word = chance.choice(USERS), f"p{me}n{number}x"
            try:
                told = await _one(memory, user, word, folder, chance)
            except (InputRefused, NotAllowed) as error:
                if error.code not in BETWEEN:
                    raise
                told = {"op": "overtaken"}
            tell("done", user=user, word=word, **told)
            if lost := await _unfound(memory, folder / BOARD, chance):
                tell("fault", error=lost)


async def _one(memory: Memory, user: str, word: str, folder: Path, chance: random.Random) -> dict[str, Any]:
    """One change: of a memory that all processes change, or one that stays as it is."""
    op = chance.choice(OPS)
    active = [one for one in await memory.list(user) if not one.text.startswith("keep") and not one.pinned]
    active = sorted(active, key=lambda one: one.id)[:HOT]
    if op == "keep":
        await memory.save(user, [MemoryDraft(content=f"keep {word}", bindings=(word,))])
        _post(folder, f"{user} {word}\n")
    elif op == "import":
        file = chance.choice(list(IMPORTED))
        await memory.import_file(user, folder / f"{file}.jsonl")
        _post(folder, f"{user} {chance.choice(IMPORTED[file]).removeprefix('keep ')}\n")
        return {"op": op, "file": file}
    elif op == "talk":  # a chat of its own
        await _talk(memory, user, f"{user} {word.partition('n')[0]}", word)
    elif op == "meet":  # one chat for all
        await _talk(memory, user, user, word)
    elif op == "update" or len(active) < HOT:
        if len(active) < HOT:
            op = "save"
            (saved,) = await memory.save(user, [MemoryDraft(content=word, key=f"key {word}")])
            return {"op": op, "id": saved.record.id}
        id = chance.choice(active).id
        await memory.update(user, id, content=word)
        return {"op": op, "id": id}
    else:
        id = chance.choice(active).id
        given = [id] if op in ("hide", "archive", "erase") else id
        outcome = await getattr(memory, op)(user, given)
        left = list(outcome.left) if op == "erase" else []
        return {"op": op, "id": id, "left": left}
    return {"op": op}


async def _talk(memory: Memory, user: str, chat: str, word: str) -> None:
    await memory.record_cycle(user, chat, f"said {word}", "sim", at=utc_now(), channel="t")


def _post(folder: Path, line: str) -> None:
    with (folder / BOARD).open("ab", buffering=0) as file:
        file.write(line.encode())


async def _unfound(memory: Memory, board: Path, chance: random.Random) -> str | None:
    """What is wrong with the search for one of the last saves, whoever made it."""
    posted = [line.split() for line in board.read_text().splitlines()[-20:]]
    if not posted:
        return None
    user, word = chance.choice(posted)
    hits = await memory.search(user, word, limit=20)
    found = [hit.record.text for hit in hits]
    if f"keep {word}" not in found:
        return f"process {os.getpid()}: {user} saved {word!r}; a later search finds {found}"
    return None


async def _look(tell: Tell, url: str, user: str) -> None:
    async with Memory.open(url, embeddings=QuickEmbedder()) as memory:
        records = await memory.list(user, statuses=get_args(Status))
        journal = await memory.core.storage.memories.journal(user)
        feed = await memory.core.storage.transcript.cycle_feed(user, 0, model=None)
        paths = {
            chat: [cycle.message.text for cycle in await memory.conversation(user, chat, limit=100_000)]
            for chat in {cycle.chat for cycle in feed.cycles}
        }
        tell(
            "seen",
            now={one.id: one.text for one in records},
            before=[(row.memory, row.before.text) for row in journal if row.before is not None],
            said=[cycle.message.text for cycle in feed.cycles],
            live=[text for path in paths.values() for text in path],
            problems=await problems(memory.core.storage, user),
        )


def _compared(user: str, told: list[dict[str, Any]], seen: dict[str, Any]) -> list[str]:
    """Faults of one user: everything acknowledged must be there, once, now or in the journal."""
    faults = [f"{user}: doctor: {problem}" for problem in seen["problems"]]
    contents = defaultdict(set)
    for id, text in [*seen["now"].items(), *seen["before"]]:
        contents[id].add(text)
    erased = {line["id"] for line in told if line["op"] == "erase"}
    faults += [f"{user}: erasing {line['id']} left {line['left']}" for line in told if line.get("left")]
    for line in told:
        if line["op"] not in ("save", "update"):
            continue
        if line["id"] in erased:
            if left := [id for id, texts in contents.items() if line["word"] in texts]:
                faults.append(f"{user}: the erased {line['word']!r} is left in {left}")
        elif line["word"] not in contents[line["id"]]:
            faults.append(f"{user}: the {line['op']} of {line['word']!r} is lost")
    kept, said = Counter(seen["now"].values()), Counter(seen["said"])
    brought = {file: IMPORTED[file] for file in {line["file"] for line in told if line["op"] == "import"}}
    once = [f"keep {line['word']}" for line in told if line["op"] == "keep"]
    once += [content for contents in brought.values() for content in contents]
    faults += [
        f"{user}: {content!r} is there {kept[content]} times" for content in once if kept[content] != 1
    ]
    once = [content for contents in brought.values() for content in contents[:TOLD]]
    faults += [f"{user}: {text!r} was said {said[text]} times" for text in once if said[text] != 1]
    for where in ("said", "live"):
        counts = Counter(seen[where])
        for line in told:
            if line["op"] in ("talk", "meet") and counts[f"said {line['word']}"] != 1:
                times = counts[f"said {line['word']}"]
                faults.append(f"{user}: 'said {line['word']}' ({line['op']}) is {times} times in {where!r}")
    return faults
