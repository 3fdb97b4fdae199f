"""Builds the briefing from memory, within a token budget, with an account of its sections (pure)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

from thoughtcycle.memory.briefing import lines, sections
from thoughtcycle.memory.briefing.lines import Item, Origin
from thoughtcycle.memory.briefing.sections import Material
from thoughtcycle.memory.text.similarity import Deduplicator
from thoughtcycle.prompts.loader import Language, texts
from thoughtcycle.text_clipping import CHARACTERS_PER_TOKEN, estimate_tokens

Recipe = Literal["layered", "compact"]
RECIPES: tuple[Recipe, ...] = get_args(Recipe)
QUOTAS: Mapping[str, int] = {"semantic": 3, "episodic": 2, "long": 2, "medium": 3}
"""Reserved places (LM-5)."""
OTHERS = 6
"""Places for other chats (SM-5)."""
OLD_SHARE = 0.3
"""Share of the budget for old summaries of this chat, at most: other chats and excerpts need room too."""
MEMORY = ("semantic", "episodic", "long", "medium", "facts", "others")
SESSION = ("here", "old", "working")
"""Sections of the two texts, in their order (LM-5, HM-11)."""
_BY_RANK = ("semantic", "long", "facts", "working")
"""Sections with the best item first; the others have the oldest first."""


@dataclass(frozen=True)
class BriefingOptions:
    """The kind of briefing wanted."""

    tokens: int = 1_000
    recipe: Recipe = "layered"
    """`layered` gives each layer its places (LM-5), `compact` shows a few facts (HM-9)."""
    facts: int = 5
    """Of the compact recipe; 0: nothing from memory."""
    smart: bool | None = None
    """Show other chats; None: as the user has set it, off by default (SM-6)."""
    patience: float | None = None
    """See `PassiveRecall.recollect`."""


@dataclass(frozen=True)
class Section:
    """The account of one section."""

    name: str
    shown: tuple[tuple[str, float, Origin], ...]
    """Id, score and source of each item."""
    left_out: int
    """Candidates without a place or room."""
    tokens: int


@dataclass(frozen=True)
class BuiltBriefing:
    """The memory of a turn as two texts, and their account."""

    text: str
    """Long-term memory."""
    session: str
    """Memory of this chat, for the current context (HM-11)."""
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


def build_brief(it: Material, plan: BriefingOptions, language: Language) -> BuiltBriefing:
    """The briefing of this material within the token budget of `plan`.

    Sections with places come first, in their order; then old summaries, then excerpts in the remaining room.
    """
    frame = texts(language, "briefing")
    draft = _BriefingBuilder(it.window, plan.tokens, language)
    if plan.recipe == "compact":
        draft.fill("facts", sections.facts(it, frame), plan.facts)
        draft.fill("working", sections.working(it, frame, language))
        return draft.brief()
    for name, items in sections.layers(it, frame).items():
        draft.fill(name, items, QUOTAS[name])
    draft.fill("medium", sections.medium(it), QUOTAS["medium"])
    draft.fill("working", sections.working(it, frame, language))
    if it.smart:
        draft.fill("others", sections.others(it, frame), OTHERS)
    draft.fill("old", sections.old(it), share=OLD_SHARE)
    for here, item in sections.excerpts(it, frame):
        draft.fill("here" if here else "others", [item])
    return draft.brief()


class _BriefingBuilder:
    """A briefing in the making: the items shown so far and the remaining room."""

    def __init__(self, window: Iterable[str], tokens: int, language: Language) -> None:
        self._language: Language = language
        self._frame = texts(language, "briefing")
        # Two texts, each rounded up.
        self._size = self._room = tokens * CHARACTERS_PER_TOKEN - 2 * (CHARACTERS_PER_TOKEN - 1)
        self._texts, self._ids = Deduplicator(), set(window)
        self._shown: dict[str, list[Item]] = {}
        self._left_out: Counter[str] = Counter()

    def fill(
        self, name: str, items: Iterable[Item], places: int | None = None, *, share: float = 1.0
    ) -> None:
        """Shows items, best first, while there are places and room, each fact once.

        A former version takes no place. `share`: of the whole budget, for this section; then nothing is shown
        behind an item that did not fit.
        """
        least, used = self._room - self._size * share, 0
        for item in items:
            if self._is_shown(item):
                continue
            if (places is not None and used >= places) or not self._add_if_room(name, item, least):
                self._left_out[name] += 1
                least = least if share == 1.0 else self._size
                continue
            used += 1
            if item.former is not None and not self._is_shown(item.former):
                self._add_if_room(name, item.former, least)

    def brief(self) -> BuiltBriefing:
        """The two texts, and the account of each section."""
        written = {name: self._text(name) for name in (*MEMORY, *SESSION)}
        memory, session = ("\n\n".join(filter(None, map(written.get, part))) for part in (MEMORY, SESSION))
        accounts = []
        for name, text in written.items():
            if text or self._left_out[name]:
                items = self._shown.get(name, ())
                shown: list[tuple[str, float, Origin]] = [
                    (item.id, round(item.score, 3), item.origin) for item in items
                ]
                accounts.append(Section(name, tuple(shown), self._left_out[name], estimate_tokens(text)))
        return BuiltBriefing(memory, session, tuple(accounts))

    def _is_shown(self, item: Item) -> bool:
        return item.id in self._ids or self._texts.has(item.essence)

    def _add_if_room(self, name: str, item: Item, least: float) -> bool:
        """Shows an item if the room allows; it is charged as a line of its own, with the heading if first."""
        shown = self._shown.get(name, [])
        cost = len(item.label) + len(item.text) + lines.AROUND + (0 if shown else len(self._frame[name]) + 2)
        if self._room - cost < max(0, least):
            return False
        self._room -= cost
        self._ids.add(item.id)
        self._texts.add(item.essence)
        self._shown[name] = [*shown, item]
        return True

    def _text(self, name: str) -> str:
        shown = self._shown.get(name, [])
        if not shown:
            return ""
        if name not in _BY_RANK:  # items without a date first
            shown = sorted(shown, key=lambda item: item.at.timestamp() if item.at else -inf)
        return "\n".join([self._frame[name], *lines.bullets(shown, self._language)])
