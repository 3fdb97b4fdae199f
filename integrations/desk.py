"""What the memory tools do and answer, whoever offers them to a model: a LangChain agent, an MCP client."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import Field, StringConstraints

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.records import MemoryDraft, MemoryRecord, Source
from thoughtcycle.memory.searching import as_found
from thoughtcycle.nodes.actions.memory_save import Binding, said, usable
from thoughtcycle.nodes.limits import Limits
from thoughtcycle.nodes.run import found
from thoughtcycle.prompts.errors import StorageFailed, ThoughtcycleError, for_strangers
from thoughtcycle.prompts.loader import Language, texts

SHORT, LONGEST = 8, 400
"""Characters of an id, and of a memory, that a model is shown."""

Query = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), Field(max_length=2_000)]
Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=SHORT, max_length=200)]
Ids = Annotated[list[Id], Field(min_length=1, max_length=40)]
Topics = Annotated[list[Binding], Field(default_factory=list, max_length=12)]


class Refused(Exception):
    """A tool cannot do what is asked; the text tells the model why, and holds no internals."""


@dataclass(frozen=True)
class Request:
    """For whom a tool is called, and in which conversation: nothing of it comes from the model."""

    user: str
    shown: Sequence[str] = ()
    """Ids of the memories that the tools have shown in this conversation: no others can be changed."""
    message: str = ""
    """The user's last message, where it is known."""
    cycle: str | None = None
    """The running cycle, where there is one."""
    incognito: bool = False


@dataclass(frozen=True)
class Answer:
    """What the model reads, and what only the conversation keeps."""

    text: str
    shown: tuple[str, ...] = ()
    """Ids of the memories that it names."""
    changed: bool = False
    """Whether memories changed."""


Act: TypeAlias = Callable[..., Awaitable[Answer]]
"""One of the tools: called with the memory, the request, and what the model gave."""


class Desk:
    """The four tools, in one language."""

    def __init__(self, language: Language, limits: Limits) -> None:
        self.texts = texts(language, "tools")
        self._language, self._limits = language, limits

    async def answer(self, act: Act, memory: Memory, request: Request, **given: Any) -> Answer:
        """What `act` answers; raises Refused for every failure that a person can read."""
        try:
            return await act(memory, request, **given)
        except ThoughtcycleError as failure:
            away = isinstance(failure, StorageFailed) and memory.lost(failure)
            known = StorageFailed("memory_away") if away else for_strangers(failure)
            raise Refused(known.text(self._language)) from failure

    async def search(self, memory: Memory, request: Request, *, query: str) -> Answer:
        """The memories that speak of `query`, by words alone without the embedding model."""
        if memory.unreadable:
            raise StorageFailed("memory_away")
        counted = not request.incognito
        hits = await found(memory, request.user, query, self._limits.search_hits, counted=counted)
        if not hits and memory.waiting:  # it may be among what waits
            raise StorageFailed("memory_away")
        records = [as_found(hit, query) for hit in hits]
        if not records:
            return Answer(self.texts["search.nothing"])
        lines = "\n".join(line(record) for record in records)
        text = self.texts.fill("search.found", count=len(records), memories=lines)
        return Answer(text, tuple(record.id for record in records))

    async def save(
        self, memory: Memory, request: Request, *, content: str, topics: Sequence[str] = ()
    ) -> Answer:
        """Keeps one fact."""
        text = self._written(request, content)
        source = Source(cycle=request.cycle, words=said(text, request.message, self._language))
        draft = MemoryDraft(content=text, bindings=tuple(dict.fromkeys(topics)), source=source)
        (saved,) = await memory.save(request.user, [draft])
        if saved.outcome == "erased":
            return Answer(self.texts["save.deleted"])
        section, id = "save.known" if saved.outcome == "known" else "save.done", saved.record.id
        return Answer(self.texts.fill(section, id=id[:SHORT]), (id,), changed=True)

    async def update(self, memory: Memory, request: Request, *, id: str, content: str) -> Answer:
        """Gives a memory that was shown new content."""
        text, shown = self._written(request, content), self._shown(request, [id])
        words = said(text, request.message, self._language)
        record = await memory.update(request.user, shown[0], content=text, cycle=request.cycle, words=words)
        return Answer(self.texts.fill("update.done", id=record.id[:SHORT]), (record.id,), changed=True)

    async def delete(self, memory: Memory, request: Request, *, ids: list[str]) -> Answer:
        """Hides memories that were shown."""
        gone = await memory.hide(request.user, self._shown(request, ids), cycle=request.cycle)
        return Answer(self.texts.fill("delete.done", count=len(gone)), changed=True)

    def _written(self, request: Request, content: str) -> str:
        """`content` as it may be kept."""
        if request.incognito:
            raise Refused(self.texts["incognito"])
        most = self._limits.content_chars
        if not usable(content, most):
            raise Refused(self.texts.fill("empty", most=most))
        return content.strip()

    def _shown(self, request: Request, ids: Iterable[str]) -> list[str]:
        """The memories of these ids or beginnings, each shown in this conversation."""
        fitting = {id: [one for one in request.shown if one.startswith(id)] for id in ids}
        for id, ones in fitting.items():
            if len(ones) != 1:
                raise Refused(self.texts.fill("not_shown", id=repr(id)))
        return [ones[0] for ones in fitting.values()]


def line(record: MemoryRecord) -> str:
    """A memory as a model is shown it."""
    text = " ".join(record.text.split())
    about = ", ".join(filter(None, (record.kind, record.valid_from.date().isoformat())))
    return f"[{record.id[:SHORT]}] {text[:LONGEST]} ({about})"
