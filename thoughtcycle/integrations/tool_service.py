"""The memory tools behind LangChain tools and MCP: search, save, update, delete."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import Field, StringConstraints

from thoughtcycle.errors import ThoughtcycleError, for_strangers
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import SHORT, MemoryDraft, Source
from thoughtcycle.memory.search import as_found
from thoughtcycle.memory.text.secrets import answering
from thoughtcycle.nodes.actions.memory_save import Binding, safe_bindings, said, usable
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.message import tells_in_passing
from thoughtcycle.nodes.base.run import search_or_words
from thoughtcycle.prompts.loader import Language, texts
from thoughtcycle.text_clipping import clip_at_word

LONGEST = 400
"""Characters of a memory that a model is shown."""

Query = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), Field(max_length=2_000)]
Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=SHORT, max_length=200)]
Ids = Annotated[list[Id], Field(min_length=1, max_length=40)]
Topics = Annotated[list[Binding], Field(default_factory=list, max_length=12)]


class ToolRefused(Exception):
    """A tool refuses a request; the text tells the model why, without internals."""


@dataclass(frozen=True)
class ToolRequest:
    """The user and conversation of a tool call; no field comes from the model."""

    user: str
    shown: Sequence[str] = ()
    """Ids of the memories that the tools have shown in this conversation: no others can be changed."""
    message: str = ""
    """The user's last message, where it is known."""
    cycle: str | None = None
    """The running cycle, where there is one."""
    incognito: bool = False
    learned: bool = False
    """Whether the message is kept, and will be learned from."""


@dataclass(frozen=True)
class ToolAnswer:
    """The text for the model, and facts for the conversation only."""

    text: str
    shown: tuple[str, ...] = ()
    """Ids of the memories that it names."""
    changed: bool = False
    """Whether memories changed."""


ToolMethod: TypeAlias = Callable[..., Awaitable[ToolAnswer]]
"""A tool: called with the memory, the request and the model's arguments."""


class ToolService:
    """The four tools, in one language."""

    def __init__(self, language: Language, limits: Limits) -> None:
        self.texts = texts(language, "tools")
        self._language: Language = language
        self._limits = limits

    async def answer(self, act: ToolMethod, memory: Memory, request: ToolRequest, **given: Any) -> ToolAnswer:
        """Calls `act`; raises ToolRefused for every known failure."""
        try:
            return await act(memory, request, **given)
        except ThoughtcycleError as failure:
            worded = memory.availability.in_words(failure, kept=request.learned)
            raise ToolRefused(for_strangers(worded).text(self._language)) from failure

    async def search(self, memory: Memory, request: ToolRequest, *, query: str) -> ToolAnswer:
        """The memories about `query`; found by words alone while there is no embedding model."""
        memory.availability.require()
        counted = not request.incognito
        hits = await search_or_words(memory, request.user, query, self._limits.search_hits, counted=counted)
        if not hits:
            memory.availability.require(whole=True)  # a match may still wait in the spool
        records = [answering(as_found(hit, query), request.message or query) for hit in hits]
        if not records:
            return ToolAnswer(self.texts["search.nothing"])
        lines = []
        for record in records:
            about = ", ".join(filter(None, (record.kind, record.valid_from.date().isoformat())))
            lines.append(f"[{record.id[:SHORT]}] {clip_at_word(record.line, LONGEST)} ({about})")
        text = self.texts.fill("search.found", count=len(records), memories="\n".join(lines))
        return ToolAnswer(text, tuple(record.id for record in records))

    async def save(
        self, memory: Memory, request: ToolRequest, *, content: str, topics: Sequence[str] = ()
    ) -> ToolAnswer:
        """Saves one fact."""
        text = self._checked(request, content)
        source = Source(cycle=request.cycle, words=said(text, request.message, self._language))
        draft = MemoryDraft(content=text, bindings=safe_bindings(topics, text), source=source)
        (saved,) = await memory.save(request.user, await memory.complete(request.user, [draft]))
        if saved.outcome == "erased":
            return ToolAnswer(self.texts["save.deleted"])
        section, id = "save.known" if saved.outcome == "known" else "save.done", saved.record.id
        return ToolAnswer(self.texts.fill(section, id=id[:SHORT]), (id,), changed=True)

    async def update(self, memory: Memory, request: ToolRequest, *, id: str, content: str) -> ToolAnswer:
        """Gives a memory that was shown new content."""
        shown = self._shown(request, [id])
        known = await memory.active(request.user, shown)
        text = self._checked(request, content, "\n".join(record.text for record in known))
        words = said(text, request.message, self._language)
        (new,) = await memory.complete(request.user, [MemoryDraft(content=text)])
        record = await memory.update(
            request.user, shown[0], content=new.content, cycle=request.cycle, words=words
        )
        return ToolAnswer(self.texts.fill("update.done", id=record.id[:SHORT]), (record.id,), changed=True)

    async def delete(self, memory: Memory, request: ToolRequest, *, ids: list[str]) -> ToolAnswer:
        """Hides memories that were shown."""
        gone = await memory.hide(request.user, self._shown(request, ids), cycle=request.cycle)
        return ToolAnswer(self.texts.fill("delete.done", count=len(gone)), changed=True)

    def _checked(self, request: ToolRequest, content: str, known: str = "") -> str:
        """`content` checked and stripped for storage; `known`: the memory that it changes."""
        if request.incognito:
            raise ToolRefused(self.texts["incognito"])
        most = self._limits.content_chars
        if not usable(content, most):
            raise ToolRefused(self.texts.fill("empty", most=most))
        if request.message and tells_in_passing(content, request.message, known):
            raise ToolRefused(self.texts["secret"])
        return content.strip()

    def _shown(self, request: ToolRequest, ids: Iterable[str]) -> list[str]:
        """The memories of these ids or beginnings, each shown in this conversation."""
        fitting = {id: [one for one in request.shown if one.startswith(id)] for id in ids}
        for id, ones in fitting.items():
            if len(ones) != 1:
                raise ToolRefused(self.texts.fill("not_shown", id=repr(id)))
        return [ones[0] for ones in fitting.values()]
