"""What of a user's memory is put before a model each turn, within a token budget, and its account (pure)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from thoughtcycle.budget import CHARACTERS_PER_TOKEN, estimate_tokens
from thoughtcycle.memory.briefing import lines, sections
from thoughtcycle.memory.briefing.lines import Item, Origin
from thoughtcycle.memory.briefing.sections import Material
from thoughtcycle.memory.text import Deduplicator
from thoughtcycle.prompts.loader import Language, texts

Recipe = Literal["layered", "compact"]
RECIPES: tuple[Recipe, ...] = get_args(Recipe)
QUOTAS: Mapping[str, int] = {"semantic": 3, "episodic": 2, "long": 2, "medium": 3}
"""Reserved places (LM-5)."""
OTHERS = 6
"""The most relevant of the other chats (SM-5)."""
OLD_SHARE = 0.3
"""Of the budget, at most so much for old summaries of this chat: other chats and excerpts need room too."""
MEMORY = ("semantic", "episodic", "long", "medium", "facts", "others")
SESSION = ("here", "old", "working")
"""Sections of the two texts, in the order in which they are read (LM-5, HM-11)."""
_BY_RANK = ("semantic", "long", "facts", "working")
"""Sections whose best stands first; in the others the oldest does."""


@dataclass(frozen=True)
class Section:
    """What became of one section."""

    name: str
    shown: tuple[tuple[str, float, Origin], ...]
    """Id, score and source of each item."""
    left_out: int
    """Candidates for which there was no place or no room."""
    tokens: int


@dataclass(frozen=True)
class Brief:
    """The memory of a turn as text, and its account."""

    text: str
    """Long-term memory."""
    session: str
    """What belongs to this conversation: it stands with the current context (HM-11)."""
    sections: tuple[Section, ...]

    @property
    def tokens(self) -> int:
        """Of both texts together, estimated."""
        return estimate_tokens(self.text) + estimate_tokens(self.session)

    @property
    def shown(self) -> tuple[str, ...]:
        """Ids of the memories shown, former versions included."""
        return tuple(id for one in self.sections for id, _, origin in one.shown if origin == "memory")

    @property
    def left_out(self) -> int:
        """How many candidates were not shown."""
        return sum(section.left_out for section in self.sections)


def briefed(
    it: Material, *, tokens: int, language: Language, recipe: Recipe = "layered", facts: int = 5
) -> Brief:
    """The briefing within `tokens`, by recipe: `layered` (LM-5) or `compact` (HM-9, so many `facts`).

    Places come first, in the order of the sections; then old summaries, then excerpts in the room that is
    left.
    """
    frame = texts(language, "briefing")
    desk = _Desk(it.window, tokens, language)
    if recipe == "compact":
        desk.fill("facts", sections.facts(it, frame), facts)
        desk.fill("working", sections.working(it, frame, language))
        return desk.brief()
    for name, items in sections.layers(it, frame).items():
        desk.fill(name, items, QUOTAS[name])
    desk.fill("medium", sections.medium(it), QUOTAS["medium"])
    desk.fill("working", sections.working(it, frame, language))
    if it.smart:
        desk.fill("others", sections.others(it, frame), OTHERS)
    desk.fill("old", sections.old(it), share=OLD_SHARE)
    for here, item in sections.excerpts(it, frame):
        desk.fill("here" if here else "others", [item])
    return desk.brief()


class _Desk:
    """A briefing in the making: what is shown so far, what room is left."""

    def __init__(self, window: Iterable[str], tokens: int, language: Language) -> None:
        self._language: Language = language
        self._frame = texts(language, "briefing")
        # Two texts, each rounded up.
        self._size = self._room = tokens * CHARACTERS_PER_TOKEN - 2 * (CHARACTERS_PER_TOKEN - 1)
        self._told, self._ids = Deduplicator(), set(window)
        self._shown: dict[str, list[Item]] = {}
        self._left: dict[str, int] = {}

    def fill(
        self, name: str, items: Iterable[Item], places: int | None = None, *, share: float = 1.0
    ) -> None:
        """Shows items, best first, while there are places and room, each thing once.

        A former version takes no place. `share`: of the whole budget, what the section may use; then nothing
        is shown behind what did not fit.
        """
        least, used = self._room - self._size * share, 0
        for item in items:
            if self._known(item):
                continue
            if (places is not None and used >= places) or not self._show(name, item, least):
                self._left[name] = self._left.get(name, 0) + 1
                least = least if share == 1.0 else self._size
                continue
            used += 1
            if item.former is not None and not self._known(item.former):
                self._show(name, item.former, least)

    def brief(self) -> Brief:
        """The two texts, and what became of each section."""
        told = {name: self._text(name) for name in (*MEMORY, *SESSION)}
        accounts = [self._account(name, text) for name, text in told.items() if text or name in self._left]
        memory, session = ("\n\n".join(filter(None, map(told.get, part))) for part in (MEMORY, SESSION))
        return Brief(memory, session, tuple(accounts))

    def _known(self, item: Item) -> bool:
        return item.id in self._ids or self._told.has(item.essence)

    def _show(self, name: str, item: Item, least: float) -> bool:
        """Shows an item if the room allows; it is charged as a line of its own, with the heading if first."""
        shown = self._shown.get(name, [])
        cost = len(item.label) + len(item.text) + lines.AROUND + (0 if shown else len(self._frame[name]) + 2)
        if self._room - cost < max(0, least):
            return False
        self._room -= cost
        self._ids.add(item.id)
        self._told.add(item.essence)
        self._shown[name] = [*shown, item]
        return True

    def _account(self, name: str, text: str) -> Section:
        items = self._shown.get(name, ())
        shown: tuple[tuple[str, float, Origin], ...] = tuple(
            (item.id, round(item.score, 3), item.origin) for item in items
        )
        return Section(name, shown, self._left.get(name, 0), estimate_tokens(text))

    def _text(self, name: str) -> str:
        shown = self._shown.get(name, [])
        if not shown:
            return ""
        ordered = shown if name in _BY_RANK else _in_time(shown)
        return "\n".join([self._frame[name], *lines.bullets(ordered, self._language)])


def _in_time(items: Sequence[Item]) -> list[Item]:
    """What has no date first, in its order; the rest, the oldest first."""
    dated = [(item.at, place) for place, item in enumerate(items) if item.at is not None]
    return [*(item for item in items if item.at is None), *(items[place] for _, place in sorted(dated))]
