"""`ThoughtCycleStore`: LangGraph's store on our engine, with search by words and vectors, and history."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Self, TypeAlias
from urllib.parse import unquote

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from thoughtcycle.errors import NotAllowed
from thoughtcycle.integrations.items import Namespace, OwnerItems, as_draft, item_key
from thoughtcycle.integrations.loop_bridge import (
    LoopMemory,
    MemoryHandle,
    in_background,
    run_async,
    run_blocking,
)
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import ItemSpace, MemoryDraft, Receipt, item_space
from thoughtcycle.nodes.base.context import Context, check
from thoughtcycle.runtime.resources import hold

OwnerRule: TypeAlias = str | Callable[[Namespace], str]
"""The owner of a namespace's items: one fixed user, or a rule that names the user."""


class ThoughtCycleStore(BaseStore):
    """A `BaseStore`: pass it to `compile(store=…)` or `create_agent(…, store=…)`.

    Each item has one owner, whom the namespace names, and is stored in that user's space of items, apart
    from the user's memories and from other users' searches. A namespace, or the prefix of a search, without
    an owner is refused (NotAllowed('store_owner')).

    A search with a `query` ranks by words and, where the memory has embeddings, by vectors; unrelated items
    come last, without a score. Deleting hides an item: `undo` brings it back until it is erased for good, by
    a worker after the grace period or at once by `erase`. Its former values are its `history`.

    Blocking calls wait for the memory's event loop, so they are refused on it
    (InputRefused('memory_asynchronous')): call the asynchronous ones there, or `open` a store that has a loop
    of its own. All raise StorageFailed when the database refuses; then nothing is half-written.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: MemoryHandle,
        *,
        owner: OwnerRule,
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
    ) -> None:
        """A plain Memory is used on the running event loop, on which it was opened.

        `owner`: see the class, e.g. `lambda namespace: namespace[0]`. `fields`: paths of the texts by which
        an item is found unless its `index` names some (`$`: the whole value). `ttl`: minutes after which
        unread items expire (`default_ttl`), and whether reading restarts them.
        """
        self._handle: MemoryHandle = LoopMemory(memory) if isinstance(memory, Memory) else memory
        self._owner = owner
        self._fields = tuple(fields)
        self.ttl_config = ttl

    @classmethod
    @contextmanager
    def open(
        cls,
        opening: AbstractAsyncContextManager[Memory],
        *,
        owner: OwnerRule,
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
    ) -> Iterator[Self]:
        """A store with an event loop of its own, for apps that block and for those that do not.

            with ThoughtCycleStore.open(Memory.open(url, embeddings=…), owner=…) as store: ...

        Raises what `opening` raises.
        """
        with in_background(opening) as memory:
            yield cls(memory, owner=owner, fields=fields, ttl=ttl)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carries out operations: first all reads, then puts and deletions, of one key the last."""
        listed = list(ops)
        return run_blocking(self._handle, lambda memory: self._carry_out(memory, listed))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """See `batch`."""
        listed = list(ops)
        return await run_async(self._handle, lambda memory: self._carry_out(memory, listed))

    def history(self, namespace: Namespace, key: str) -> list[Item]:
        """The values that an item had before, the latest first; `updated_at` says when each was put."""
        return run_blocking(self._handle, lambda memory: self._of(memory, namespace).history(namespace, key))

    async def ahistory(self, namespace: Namespace, key: str) -> list[Item]:
        """See `history`."""
        return await run_async(
            self._handle, lambda memory: self._of(memory, namespace).history(namespace, key)
        )

    def undo(self, namespace: Namespace, key: str) -> Item | None:
        """Undoes the last put or deletion of an item that was not undone yet; returns the item as it is then.

        None when it does not exist then. Raises InputRefused('memory_erased') when it was erased for good.
        """
        return run_blocking(self._handle, lambda memory: self._of(memory, namespace).undo(namespace, key))

    async def aundo(self, namespace: Namespace, key: str) -> Item | None:
        """See `undo`."""
        return await run_async(self._handle, lambda memory: self._of(memory, namespace).undo(namespace, key))

    def erase(self, namespace: Namespace, key: str) -> Receipt:
        """Erases an item for good, deleted or not, with all the values that it had."""
        return run_blocking(self._handle, lambda memory: self._of(memory, namespace).erase(namespace, key))

    async def aerase(self, namespace: Namespace, key: str) -> Receipt:
        """See `erase`."""
        return await run_async(self._handle, lambda memory: self._of(memory, namespace).erase(namespace, key))

    def sweep_ttl(self) -> int:
        """Erases the expired items of all owners; returns their number. A worker does it once a day, too."""
        return run_blocking(self._handle, _sweep)

    async def asweep_ttl(self) -> int:
        """See `sweep_ttl`."""
        return await run_async(self._handle, _sweep)

    def _space(self, namespace: Namespace) -> ItemSpace:
        user: object = self._owner
        if callable(user):
            try:
                user = user(namespace)
            except LookupError:  # shorter than the rule needs
                user = None
        if not isinstance(user, str) or not user.strip():
            raise NotAllowed("store_owner", namespace=repr(namespace))
        return item_space(check(Context(user_id=user)).user_id)

    def _space_of(self, op: Op) -> ItemSpace:
        """The space of an operation; in a prefix the labels before the first wildcard name the owner."""
        if isinstance(op, SearchOp):
            return self._space(op.namespace_prefix)
        if not isinstance(op, ListNamespacesOp):
            return self._space(op.namespace)
        paths = [one.path for one in op.match_conditions or () if one.match_type == "prefix"]
        path = paths[0] if paths else ()
        return self._space(path[: path.index("*")] if "*" in path else path)

    def _of(self, memory: Memory, namespace: Namespace) -> OwnerItems:
        return OwnerItems(memory, self._space(namespace))

    async def _carry_out(self, memory: Memory, ops: Sequence[Op]) -> list[Result]:
        """Checks all operations first, then carries them out."""
        results: list[Result] = [None] * len(ops)
        gets: dict[ItemSpace, dict[int, GetOp]] = defaultdict(dict)
        puts: dict[ItemSpace, dict[str, MemoryDraft | None]] = defaultdict(dict)
        looks: dict[int, tuple[ItemSpace, SearchOp | ListNamespacesOp]] = {}
        for place, op in enumerate(ops):
            validate_op_namespace(op)
            space = self._space_of(op)
            if isinstance(op, GetOp):
                gets[space][place] = op
            elif isinstance(op, PutOp):
                draft = as_draft(op, self._fields) if op.value is not None else None
                puts[space][item_key(op.namespace, op.key)] = draft
            else:
                looks[place] = (space, op)
        for space, wanted in gets.items():
            found = await OwnerItems(memory, space).get(list(wanted.values()))
            for place, item in zip(wanted, found, strict=True):
                results[place] = item
        for place, (space, look) in looks.items():
            items = OwnerItems(memory, space)
            results[place] = (
                await items.search(look) if isinstance(look, SearchOp) else await items.namespaces(look)
            )
        for space, drafts in puts.items():
            await OwnerItems(memory, space).put(drafts)
        return results


@asynccontextmanager
async def served() -> AsyncIterator[ThoughtCycleStore]:
    """The store of a LangGraph server (`store.path` of langgraph.json), on the memory of its settings.

    All items are the user's of a single-user deployment; otherwise the first label of a namespace names the
    owner, percent-encoded, because labels have no dots.
    """
    async with hold() as held:
        user = held.services.single_user
        yield ThoughtCycleStore(held.services.memory, owner=user or (lambda labels: unquote(labels[0])))


async def _sweep(memory: Memory) -> int:
    return sum([await memory.items.erase_passed(user) for user in await memory.upkeep.users()])
