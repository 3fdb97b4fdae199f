"""The items of each section of a briefing, best first (pure)."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from thoughtcycle.memory.briefing import lines
from thoughtcycle.memory.briefing.lines import Item, Origin
from thoughtcycle.memory.index import layer_score
from thoughtcycle.memory.model import ConversationMemory, Cycle, MemoryHit, MessageHit, Mood, Profile
from thoughtcycle.memory.search import Recollection
from thoughtcycle.memory.text.analyzer import terms
from thoughtcycle.memory.text.similarity import word_overlap
from thoughtcycle.prompts.loader import Language, Texts

IMPORTANT = 10
"""Old summaries of this chat are shown above this importance (SM-5)."""
WORKING = 320
"""Characters of the working summary: 80 tokens (HM-2)."""
WORDS, SAYING = 2, 1_000
"""Words, courtesies aside, that the first `SAYING` characters of an excerpt have at least."""
MEDIUM_PRIORITY, PROFILE_PRIORITY = 7.0, 6.0
"""As LM-6 has them."""


@dataclass(frozen=True)
class Material:
    """All that a briefing may show, masked already."""

    query: str
    chat: str
    now: datetime
    """In the user's time zone."""
    found: Recollection = field(default_factory=Recollection)
    conversation: ConversationMemory | None = None
    profile: Profile | None = None
    moods: Sequence[tuple[datetime, Mood]] = ()
    """Of the recent window."""
    window: Collection[str] = ()
    """Cycles shown as recent history, which are not shown again."""
    smart: bool = False
    """Whether other chats are shown (SM-6)."""
    paused: bool = False
    """Whether nothing is learned at the moment (BY-10)."""

    def with_recent(self, recent: Sequence[Cycle]) -> "Material":
        """The material of a turn whose recent history shows these cycles."""
        moods = [
            (cycle.message.at, cycle.judgement.mood)
            for cycle in recent
            if cycle.judgement is not None and cycle.judgement.mood is not None
        ]
        return replace(self, window=frozenset(cycle.id for cycle in recent), moods=moods)

    def without_cycles(self, ids: Collection[str]) -> "Material":
        """The material without messages of these cycles, nor a memory of the chat that rests on them."""
        if not ids:
            return self
        messages = [hit for hit in self.found.messages if hit.cycle not in ids]
        return replace(self, found=replace(self.found, messages=messages), conversation=None)

    def renewed(self, changed: Collection[str], hidden: Collection[str]) -> "Material":
        """The material after a change: nothing of `hidden` memories, no former text of `changed` ones."""
        hits = [hit for hit in self.found.hits if hit.record.id not in hidden]
        gone = {*changed, *hidden}
        former = {id: record for id, record in self.found.former.items() if id not in gone}
        return replace(self, found=replace(self.found, hits=hits, former=former))


def facts(it: Material, frame: Texts) -> list[Item]:
    """Memories by relevance (HM-9)."""
    return [_memory(it, hit, hit.relevance, frame, labelled=False) for hit in it.found.hits]


def layers(it: Material, frame: Texts) -> dict[str, list[Item]]:
    """Memories by layer, ordered by LM-4; the profile's entries are semantic."""
    found: dict[str, list[Item]] = {"semantic": profile(it), "episodic": [], "long": []}
    for hit in it.found.hits:
        layer = hit.record.layer
        name = layer if layer in ("semantic", "episodic") else "long"
        count = it.found.accesses.get(hit.record.id, 0)
        said = hit.record.reinforced_at or hit.record.valid_from
        score = layer_score(hit.record.priority, it.now - said, hit.relevance, count)
        item = _memory(it, hit, score, frame, labelled=name == "semantic")
        found[name].append(lines.of_event(item, it.now) if name == "episodic" else item)
    return {name: _best(items) for name, items in found.items()}


def profile(it: Material) -> list[Item]:
    """Entries of the profile, by LM-4 with their confidence in place of use."""
    return [
        lines.of_profile(
            entry,
            layer_score(
                max(1.0, PROFILE_PRIORITY * entry.confidence),
                it.now - entry.updated,
                word_overlap(it.query, f"{entry.key} {entry.value}"),
                entry.observations,
            ),
        )
        for entry in (it.profile.entries if it.profile is not None else ())
        if entry.value.strip()
    ]


def medium(it: Material) -> list[Item]:
    """Cycles of this chat that are in the medium-term layer, by LM-4, as dated summaries."""
    found = []
    for entry in it.conversation.old_memory if it.conversation is not None else ():
        if entry.expires is not None and entry.expires > it.now and entry.summary.strip():
            relevance = _relevance(it, entry.cycle_id, entry.summary)
            score = layer_score(MEDIUM_PRIORITY, it.now - entry.timestamp, relevance, 0)
            found.append(lines.of_old(entry, score, it.now))
    return _best(found)


def working(it: Material, frame: Texts, language: Language) -> list[Item]:
    """The working summary and the mood of the day."""
    found = []
    if it.conversation is not None and it.conversation.working.strip():
        text = lines.clipped(it.conversation.working, WORKING)
        found.append(Item("working", text, "conversation"))
    if (mood := _mood(it)) is not None:
        found.append(Item("mood", lines.of_mood(mood, frame, language), "conversation"))
    return found


def old(it: Material) -> list[Item]:
    """Old summaries of this chat, the newest first: the oldest are left out first."""
    if it.conversation is None:
        return []
    periods = [one for one in it.conversation.periods if one.importance > IMPORTANT and one.summary.strip()]
    found = [lines.of_period(one, it.now) for one in periods]
    found += [
        lines.of_old(entry, float(entry.importance), it.now)
        for entry in it.conversation.old_memory
        if entry.importance > IMPORTANT and entry.summary.strip()
    ]
    return sorted(found, key=lambda item: item.at or it.now, reverse=True)


def others(it: Material, frame: Texts) -> list[Item]:
    """Judged cycles and memories of other chats, by relevance (SM-5, SM-7).

    A cycle is shown by the best of its messages that was found, verbatim, or else by its summary, which
    would leave less room for messages.
    """
    found = [
        lines.of_other(_item(hit.record.id, hit.shown.text, "memory", hit.relevance), importance, frame)
        for hit in it.found.hits
        if (importance := hit.record.importance)
    ]
    best = {hit.cycle: hit for hit in reversed(it.found.messages) if _has_content(hit)}
    for id, cycle in it.found.cycles.items():
        judged = cycle.judgement
        if judged is None or not judged.importance or cycle.chat == it.chat:
            continue
        if (hit := best.get(id)) is not None and id not in it.window:
            found.append(lines.of_other(lines.of_message(hit, it.now, frame), judged.importance, frame))
        elif judged.summary.strip():
            item = _item(id, judged.summary, "cycle", _relevance(it, id, judged.summary))
            found.append(lines.of_other(item, judged.importance, frame))
    return _best(found)


def _item(id: str, text: str, origin: Origin, score: float) -> Item:
    return Item(id, lines.clipped(text), origin, score)


def excerpts(it: Material, frame: Texts) -> Iterator[tuple[bool, Item]]:
    """Messages by relevance, with whether they are of this chat; others need smart context."""
    for hit in it.found.messages:
        here = hit.chat == it.chat
        seen = (here or it.smart) and hit.cycle not in it.window
        if seen and _has_content(hit):
            yield here, lines.of_message(hit, it.now, frame)


def _has_content(hit: MessageHit) -> bool:
    return len(terms(hit.text[:SAYING])) >= WORDS


def _memory(it: Material, hit: MemoryHit, score: float, frame: Texts, *, labelled: bool) -> Item:
    """A memory with its former version."""
    item = lines.of_memory(hit.shown, score, it.now, frame, labelled=labelled)
    before = it.found.former.get(hit.record.id)
    return item if before is None else replace(item, former=lines.of_former(before, item, it.now, frame))


def _relevance(it: Material, cycle: str, summary: str) -> float:
    """Relevance of a cycle: that of its best message that was found, else the word overlap of its summary."""
    found = [hit.relevance for hit in it.found.messages if hit.cycle == cycle]
    return max(found) if found else word_overlap(it.query, summary)


def _mood(it: Material) -> Mood | None:
    """The last mood of today, here or elsewhere."""
    known = list(it.moods)
    if it.profile is not None:
        known += [(mood.at, mood) for _, mood in it.profile.moods if mood.at is not None]
    today = it.now.date()
    recent = [pair for pair in known if pair[0].astimezone(it.now.tzinfo).date() == today]
    return max(recent, key=lambda pair: pair[0])[1] if recent else None


def _best(items: list[Item]) -> list[Item]:
    return sorted(items, key=lambda item: -item.score)
