"""Whatever two users do, each sees what it would see alone, and what was hidden comes back by no path."""

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias, get_args

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from support.doctor import problems
from support.memories import START, hidden
from support.properties import SPEECH, USERS, QuickEmbedder, bindings, contents, drafts, said, texts
from support.sheets import taken_in
from thoughtcycle.errors import ThoughtcycleError
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft, MemoryHit, MemoryRecord, MessageHit, Status
from thoughtcycle.memory.redaction.fingerprint import is_sign
from thoughtcycle.memory.text.analyzer import stop_words
from thoughtcycle.memory.text.spans import HIDDEN, key, tokens

Made: TypeAlias = tuple[str, str, str]
"""A memory: its user, its id in the shared database, its id where that user is alone."""
Work: TypeAlias = Callable[[Memory, Any], Awaitable[object]]
EVERY = get_args(Status)
MOST = 200
"""More than a run ever keeps: no result is cut off."""
WHO = st.integers(0, 1)
GUEST = st.sampled_from((False, False, False, True))
NOTHING = np.zeros(0, np.float32)
"""In place of a query's vector: words only."""


class World:
    """A memory in a file of its own, and short names for the ids that it makes."""

    def __init__(self, path: Path, clock: Callable[[], datetime]) -> None:
        self.path = path
        self.url, self.clock = f"sqlite:///{path}", clock
        self.ids: dict[str, list[str]] = {user: [] for user in USERS}
        """User → ids in the order in which they were first seen."""
        self.copies: dict[str, Path] = {}
        """User → the last export."""

    async def __aenter__(self) -> "World":
        self.opening = Memory.open(self.url, embeddings=QuickEmbedder(), clock=self.clock)
        self.memory = await self.opening.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.opening.__aexit__(None, None, None)

    def label(self, user: str, id: str | None) -> int | None:
        """The number of an id: the same in all worlds that show the same."""
        if id is None:
            return None
        known = self.ids[user]
        if id not in known:
            known.append(id)
        return known.index(id)

    def plain(self, user: str, record: MemoryRecord) -> dict[str, Any]:
        """A record with numbers in place of random ids."""
        fields = record.model_dump(exclude={"id", "current", "vector_ids"})
        names = {"id": self.label(user, record.id), "current": self.label(user, record.current)}
        return {**fields, **names, "vectors": len(record.vector_ids)}

    async def exported(self, user: str) -> Path:
        """An export of the user's in a file."""
        file = self.path.with_suffix(f".{USERS.index(user)}.jsonl")
        lines = [json.dumps(line) async for line in self.memory.export(user)]
        file.write_text("\n".join(lines) + "\n")
        return file

    async def listed(self, user: str) -> list[MemoryRecord]:
        """All of the user's documents."""
        return await self.memory.list(user, statuses=EVERY)

    async def view(self, user: str, query: str) -> dict[str, Any]:
        """All that the user can get to see."""
        records = [self.plain(user, record) for record in await self.listed(user)]
        hits = await self.memory.search(user, query, limit=MOST, floor=0.0, include=("facts", "cycles"))
        found = [self._hit(user, hit) for hit in hits]
        words = await self.memory.search(user, query, limit=MOST, vector=NOTHING)
        hidden_ids = [self.label(user, record.id) for record in await hidden(self.memory, user)]
        return {
            "records": records,
            "found": sorted(found, key=repr),
            "by words": sorted((self._hit(user, hit) for hit in words), key=repr),
            "hidden": sorted(hidden_ids, key=repr),
            "sheets": [
                *await self.memory.conversation_memories(user, limit=MOST),
                await self.memory.sheets(user, f"chat of {user}"),
                await self.memory.profile(user),
                await self.memory.conversations.pending_cycles(user, limit=MOST),
                (await self.memory.stats(user)).sheets,
            ],
        }

    def _hit(self, user: str, hit: MemoryHit | MessageHit) -> tuple[object, ...]:
        relevance = round(hit.relevance, 5)
        if isinstance(hit, MessageHit):
            return relevance, hit.role, hit.at, hit.text
        return relevance, hit.matched, self.label(user, hit.record.id)


def says(record: MemoryRecord, text: str) -> bool:
    """Whether all that a memory says, unless that is no more than a stop word or a dot, stands in `text`."""
    words = key(record.text)
    if set(words.split()) - stop_words():
        return any(True for _ in tokens(text).find(words))
    return is_sign(record.text) and record.text.strip() in text


class TwoUsers(RuleBasedStateMachine):
    """Two users in one database, and each of them alone in another one, where the same is done."""

    memories: Bundle[Made] = Bundle("memories")

    def __init__(self) -> None:
        super().__init__()
        self.now, self.steps = START, 0
        self.secrets: list[str] = []
        """Words that were told and erased."""
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.hidden: dict[str, dict[str, MemoryRecord]] = {user: {} for user in USERS}
        """User → id → what was hidden and not brought back, as in the shared database."""

    @initialize(
        target=memories,
        users=st.permutations(USERS).map(lambda users: users[:2]),
        given=st.lists(drafts, min_size=2, max_size=2),
    )
    def begin(self, users: list[str], given: list[MemoryDraft]) -> Any:
        self.users = users
        self.shared, *others = [self._world(str(number)) for number in range(3)]
        self.alone = dict(zip(users, others, strict=True))
        for world in (self.shared, *others):
            self.runner.run(world.__aenter__())
        return multiple(*(made for who in (0, 1) for made in self._saved(who, given)))

    def _world(self, name: str) -> World:
        return World(Path(self.folder.name) / f"{name}.db", lambda: self.now)

    def _actor(self, made: Made, guest: bool) -> str:
        """The memory's user, or the other one as an intruder."""
        return self.users[(self.users.index(made[0]) + guest) % 2]

    def both(self, user: str, work: Work, mine: object, others: object) -> tuple[Any, Any]:
        """What `work` gave in the shared database, where it took `mine`, and alone, where it took `others`."""
        self.now += timedelta(minutes=1)
        outcomes = []
        for world, given in ((self.shared, mine), (self.alone[user], others)):
            try:
                outcomes.append(self.runner.run(work(world.memory, given)))
            except ThoughtcycleError as error:
                outcomes.append(error.code)
        shared, alone = outcomes
        assert isinstance(shared, str) == isinstance(alone, str), (shared, alone)
        assert not isinstance(shared, str) or shared == alone
        return shared, alone

    @rule(target=memories, who=WHO, given=st.lists(drafts, min_size=1, max_size=2))
    def save(self, who: int, given: list[MemoryDraft]) -> Any:
        return multiple(*self._saved(who, given))

    def _saved(self, who: int, given: list[MemoryDraft]) -> list[Made]:
        user = self.users[who]
        shared, alone = self.both(user, lambda memory, what: memory.save(user, what), given, given)
        if isinstance(shared, str):
            return []
        assert [one.outcome for one in shared] == [one.outcome for one in alone]
        return [(user, one.record.id, other.record.id) for one, other in zip(shared, alone, strict=True)]

    @rule(made=memories, guest=GUEST, content=contents, keys=bindings, correction=st.booleans())
    def update(
        self, made: Made, guest: bool, content: object, keys: tuple[str, ...], correction: bool
    ) -> None:
        user = self._actor(made, guest)

        async def work(memory: Memory, id: str) -> object:
            return await memory.update(user, id, content=content, bindings=keys, correction=correction)

        self.both(user, work, *known_to(user, made))

    @rule(made=memories, guest=GUEST)
    def hide(self, made: Made, guest: bool) -> None:
        user = self._actor(made, guest)
        shared, _ = self.both(user, lambda memory, id: memory.hide(user, [id]), *known_to(user, made))
        if not isinstance(shared, str):
            self.hidden[user] |= {one.id: one for one in shared if one.reason == "user"}

    @rule(made=memories, guest=GUEST, what=st.sampled_from(("archive", "restore")))
    def put_aside_or_back(self, made: Made, guest: bool, what: str) -> None:
        user = self._actor(made, guest)
        self.both(user, lambda memory, id: getattr(memory, what)(user, [id]), *known_to(user, made))

    @rule(made=memories, guest=GUEST, what=st.sampled_from(("pin", "unpin", "reinforce")))
    def mark(self, made: Made, guest: bool, what: str) -> None:
        user = self._actor(made, guest)
        self.both(user, lambda memory, id: getattr(memory, what)(user, id), *known_to(user, made))

    @rule(made=memories, other=memories)
    def merge(self, made: Made, other: Made) -> None:
        """Two memories, which may be of two users."""
        user = made[0]
        ids = zip(known_to(user, made), known_to(user, other), strict=True)
        self.both(user, lambda memory, pair: memory.merge(user, *pair), *ids)

    @rule(made=memories, guest=GUEST, newest=st.booleans())
    def undo(self, made: Made, guest: bool, newest: bool) -> None:
        user = self._actor(made, guest)
        ids = (None, None) if newest else known_to(user, made)
        shared, _ = self.both(user, lambda memory, id: memory.undo(user, id), *ids)
        if not isinstance(shared, str) and shared.record is not None and shared.record.status != "hidden":
            self.hidden[user].pop(shared.record.id, None)

    @rule(who=WHO, one=texts, other=said, about=memories)
    def talk(self, who: int, one: str, other: str, about: Made) -> None:
        """Somebody talks of what a memory says, be it the other's."""
        user = self.users[who]
        if (record := self.runner.run(self.shared.memory.get(*about[:2]))) is not None:
            one = f"{one} {record.text}"
        self._say(user, one, other)

    def _say(self, user: str, one: str, other: str) -> None:
        async def work(memory: Memory, at: datetime) -> object:
            return await memory.record_cycle(user, f"chat of {user}", one, other, at=at, channel="test")

        self.both(user, work, self.now, self.now)

    @rule(who=WHO, text=said)
    def break_in(self, who: int, text: str) -> None:
        """The other's chat, by its name."""
        user, other = self.users[who], self.users[1 - who]
        self._say(other, text, text)
        memory, chat = self.shared.memory, f"chat of {other}"
        with pytest.raises(ThoughtcycleError):
            self.runner.run(memory.record_cycle(user, chat, text, text, at=self.now, channel="test"))
        with pytest.raises(ThoughtcycleError):
            self.runner.run(memory.conversation(user, chat))

    @rule(who=WHO)
    def form(self, who: int) -> None:
        """What was said is judged and goes into sheets; nobody else's."""
        user, other = self.users[who], self.users[1 - who]
        self.both(user, lambda memory, _: taken_in(memory, user), None, None)
        memory = self.shared.memory
        for sheet in self.runner.run(memory.conversation_memories(user, limit=MOST)):
            with pytest.raises(ThoughtcycleError):
                self.runner.run(memory.conversation_memory(other, sheet.chat_id))
            with pytest.raises(ThoughtcycleError):
                stolen = sheet.model_copy(update={"user_id": other})
                self.runner.run(memory.conversations.keep_conversation_memory(stolen))

    @rule(who=WHO, paused=st.booleans())
    def set_something(self, who: int, paused: bool) -> None:
        user = self.users[who]
        self.both(user, lambda memory, on: memory.change_settings(user, paused=on), paused, paused)

    @rule(made=memories, guest=GUEST)
    def erase(self, made: Made, guest: bool) -> None:
        user = self._actor(made, guest)
        before = self.runner.run(self.shared.memory.get(*made[:2]))
        shared, alone = self.both(user, lambda memory, id: memory.erase(user, [id]), *known_to(user, made))
        if isinstance(shared, str):
            return
        assert shared == alone and shared.left == ()
        assert before is not None
        self.hidden[user].pop(before.id, None)
        after = self.runner.run(self.shared.memory.get(user, before.id))
        assert after is not None and (after.status, after.content) == ("erased", None)
        history = self.runner.run(self.shared.memory.history(user, before.id))
        assert not [row for row in history if row.before is not None and row.before.content is not None]

    @rule(who=WHO, words=st.sampled_from(("{}", "meu {} é gato", "{}@x.y praia")))
    def tell_and_erase(self, who: int, words: str) -> None:
        """A word that nobody else says is in no file afterwards."""
        user, word = self.users[who], f"zyx{len(self.secrets)}w{self.steps}"
        self.secrets.append(word)
        text = words.format(word)
        self._say(user, text, f"anotado: {text}")

        async def work(memory: Memory, text: str) -> str:
            (saved,) = await memory.save(user, [MemoryDraft(content=text, bindings=(word,))])
            await memory.update(user, saved.record.id, content=f"{text}!")
            receipt = await memory.erase(user, [saved.record.id])
            assert receipt.left == () and receipt.memories == 1
            return "erased"

        self.both(user, work, text, text)

    @rule(who=WHO)
    def keep_a_copy(self, who: int) -> None:
        """An export, to be brought back later: after something was hidden or erased."""
        user = self.users[who]
        for world in (self.shared, self.alone[user]):
            world.copies[user] = self.runner.run(world.exported(user))

    @rule(who=WHO)
    def bring_it_back(self, who: int) -> None:
        user = self.users[who]
        ours, other = (world.copies.get(user) for world in (self.shared, self.alone[user]))
        if ours is not None:
            self.both(user, lambda memory, file: memory.import_file(user, file), ours, other)

    @rule()
    def reopen(self) -> None:
        """Another process: all that is derived is made anew from the documents."""
        self.runner.run(self.shared.__aexit__())
        self.runner.run(self.shared.__aenter__())

    @invariant()
    def each_sees_what_it_would_see_alone(self) -> None:
        query = SPEECH[self.steps % len(SPEECH)]
        self.steps += 1
        for user in self.users:
            shared = self.runner.run(self.shared.view(user, query))
            assert shared == self.runner.run(self.alone[user].view(user, query))

    @invariant()
    def what_was_hidden_is_found_nowhere(self) -> None:
        for user in self.users:
            self.runner.run(self._seek(user))

    async def _seek(self, user: str) -> None:
        memory, hidden = self.shared.memory, self.hidden[user]
        records = {record.id: record for record in await self.shared.listed(user)}
        assert {records[id].status for id in hidden} <= {"hidden"}
        active = {id for id, record in records.items() if record.status == "active"}
        assert not active & hidden.keys()
        shown = {record.current for record in records.values() if record.status not in ("hidden", "erased")}
        assert not shown & hidden.keys(), "a former version is in sight"
        sheets = await memory.conversation_memories(user, limit=MOST)
        told = [(one.summary, one.timestamp) for sheet in sheets for one in sheet.old_memory]
        told += [(one.text, one.at) for sheet in sheets for one in sheet.critical_data]
        told += [(one.value, one.updated) for one in (await memory.profile(user)).entries]
        for record in hidden.values():
            old = [text for text, at in told if at <= record.updated]
            assert not [part for text in old for part in text.split(HIDDEN) if says(record, part)]
            query, every = record.text, ("facts", "archived", "cycles")
            hits = await memory.search(user, query, limit=MOST, floor=0.0, include=every)
            then = await memory.search(user, query, limit=MOST, floor=0.0, at=record.valid_from)
            for hit in (*hits, *then):
                if isinstance(hit, MemoryHit):
                    assert not {hit.record.id, hit.record.current} & hidden.keys()
                    assert hit.record.status not in ("hidden", "erased")
                elif hit.at <= record.updated:  # what is said later is said anew
                    assert not [part for part in hit.text.split(HIDDEN) if says(record, part)]

    def teardown(self) -> None:
        for user in self.users:
            self.runner.run(self._close(user))
        gone, left = self.users
        farewell = self.runner.run(self.shared.memory.forget_user(gone))
        assert not farewell.left, farewell
        assert self.runner.run(self.shared.listed(gone)) == []
        self.users = [left]
        self.each_sees_what_it_would_see_alone()
        for world in (self.shared, *self.alone.values()):
            self.runner.run(world.__aexit__())
        self.runner.close()
        for path in Path(self.folder.name).glob("*.db*"):
            data = path.read_bytes()
            assert not [word for word in self.secrets if word.encode() in data], path.name
        self.folder.cleanup()

    async def _close(self, user: str) -> None:
        (other,) = {*self.users} - {user}
        told, counts = [], []
        for world in (self.shared, self.alone[user]):
            assert await problems(world.memory.core.storage, user) == []
            rows = [
                row
                for record in await world.listed(user)
                for row in await world.memory.history(user, record.id)
            ]
            lines = [line async for line in world.memory.export(user)]
            counts.append(lines[-1])
            if world is self.shared:
                for record in self.hidden[user].values():
                    old = [text for at, text in spoken(lines) if at <= record.updated]
                    assert not [part for text in old for part in text.split(HIDDEN) if says(record, part)]
            told.append([(row.number, row.op, row.at, world.label(user, row.memory)) for row in rows])
        assert told[0] == told[1] and counts[0] == counts[1]
        for record in await self.shared.listed(other):
            assert await self.shared.memory.get(user, record.id) is None
            assert await self.shared.memory.history(user, record.id) == []
            assert await self.shared.memory.versions(user, record.id) == []


def spoken(lines: list[Any]) -> list[tuple[datetime, str]]:
    """When which texts were said, in an export."""
    cycles = [line for line in lines if line["line"] == "cycle"]
    return [
        (datetime.fromisoformat(line["opened_at"]), message["content"])
        for line in cycles
        for message in (line["message"], *(text for one in line["variants"] for text in one["messages"]))
    ]


def known_to(user: str, made: Made) -> tuple[str, str]:
    """The memory's id in the shared database and alone, where only its owner knows it."""
    owner, shared, alone = made
    return shared, alone if owner == user else "unknown"


TestTwoUsers = TwoUsers.TestCase
TestTwoUsers.pytestmark = [pytest.mark.spec("BY-5", "BY-2")]
