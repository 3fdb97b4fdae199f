"""What apps expect of a LangGraph store, shown on LangGraph's own in-memory store and on ours alike."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from support.memories import WordEmbedder
from thoughtcycle.errors import InputRefused
from thoughtcycle.integrations.store import ThoughtCycleStore
from thoughtcycle.memory.memory import Memory

pytestmark = pytest.mark.spec("BY-6")


class Words(Embeddings):
    """`WordEmbedder` with LangChain's blocking half."""

    def __init__(self) -> None:
        self._words = WordEmbedder()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._words._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._words._vector(text)


@pytest.fixture(params=["langgraph", "ours"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseStore]:
    """A store with embeddings, found by the field `text` where nothing else is said."""
    if request.param == "langgraph":
        yield InMemoryStore(index={"dims": 64, "embed": Words(), "fields": ["text"]})
        return
    opening = Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=WordEmbedder())
    with ThoughtCycleStore.open(opening, owner="ana", fields=["text"]) as ours:
        yield ours


VALUES: dict[str, dict[str, Any]] = {
    "text": {"text": "gosta de pizza"},
    "nested": {"a": {"b": [1, 2.5, None, {"c": True}]}, "n": -1},
    "empty": {},
    "letters": {"текст": "日本語 🍕", "quotes": "\"'\\\n\t\u0000"},
    "mark": {"zlib": "not packed"},
    "large": {"text": "palavra " * 20_000},
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_what_was_put_is_read_as_it_was(store: BaseStore, value: dict[str, Any]) -> None:
    assert store.get(("users", "ana"), "k") is None
    store.put(("users", "ana"), "k", value)
    item = store.get(("users", "ana"), "k")
    assert item is not None
    assert (item.namespace, item.key, item.value) == (("users", "ana"), "k", value)
    assert item.created_at.tzinfo is not None and item.created_at <= item.updated_at
    assert item.dict()["namespace"] == ["users", "ana"]
    assert store.get(("users",), "k") is None and store.get(("users", "ana", "x"), "k") is None


def test_a_put_replaces_and_a_delete_removes(store: BaseStore) -> None:
    store.put(("a",), "k", {"n": 1})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"n": 2})
    second = store.get(("a",), "k")
    assert first is not None and second is not None and second.value == {"n": 2}
    assert second.updated_at > first.updated_at
    store.delete(("a",), "k")
    store.delete(("a",), "never")
    assert store.get(("a",), "k") is None and store.search(("a",)) == []
    store.put(("a",), "k", {"n": 2})
    assert [item.value for item in store.search(("a",))] == [{"n": 2}]


def test_equal_values_under_other_names_stay_apart(store: BaseStore) -> None:
    for namespace, key in (
        (("a",), "b"),
        (("a", "b"), "b"),
        (("a",), "c"),
        (("a b",), "b"),
        (("a",), "a\x1fb"),
    ):
        store.put(namespace, key, {"text": "igual"})
    assert len(store.search(())) == 5
    store.delete(("a",), "b")
    assert len(store.search(())) == 4 and store.get(("a", "b"), "b") is not None


FILTERS: list[tuple[dict[str, Any] | None, set[str]]] = [
    (None, {"1", "2", "3"}),
    ({}, {"1", "2", "3"}),
    ({"kind": "a"}, {"1", "2"}),
    ({"kind": "a", "n": 2}, {"2"}),
    ({"kind": {"$eq": "b"}}, {"3"}),
    ({"kind": {"$ne": "a"}}, {"3"}),
    ({"n": {"$gt": 1}}, {"2", "3"}),
    ({"n": {"$gte": 2}}, {"2", "3"}),
    ({"n": {"$lt": 2}}, {"1"}),
    ({"n": {"$lte": 2}}, {"1", "2"}),
    ({"n": {"$gt": 1, "$lt": 3}}, {"2"}),
    ({"meta": {"lang": "pt"}}, {"1", "3"}),
    ({"meta": {"lang": "pt", "deep": {"x": 1}}}, {"3"}),
    ({"meta": {"size": {"$gte": 5}}}, {"2"}),
    ({"tags": ["x", "y"]}, {"1"}),
    ({"tags": ["x"]}, set()),
    ({"kind": ["a"]}, set()),
    ({"absent": None}, {"1", "2", "3"}),
    ({"absent": "x"}, set()),
    ({"flag": True}, {"1", "2"}),
    ({"flag": 1}, {"1", "2"}),
    ({"flag": "1"}, {"3"}),
    ({"flag": {"$gte": 1}}, {"1", "2", "3"}),
    ({"flag": {"$ne": 1.0}}, {"3"}),
    ({"flag": None}, set()),
    ({"none": None}, {"1", "2", "3"}),
    ({"none": {"$ne": None}}, set()),
    ({"n": {"$gt": "1.5"}}, {"2", "3"}),
    ({"n": {"$eq": 2, "$ne": 3}}, {"2"}),
    ({"meta": {}}, {"1", "2", "3"}),
    ({"meta": {"lang": None}}, set()),
    ({"tags": []}, {"2"}),
    ({"tags": ("x", {"$ne": "x"})}, {"1"}),
    ({"list": [{"a": 1}, {"$lt": 3}]}, {"1"}),
    ({"list": {"a": 1}}, set()),
    ({"a.b": 1}, {"1"}),
    ({"$k": "v"}, {"1"}),
    ({"$gt": 1}, {"1"}),
    ({"meta.lang": "pt"}, set()),
    ({"a'\"[0]": "x"}, {"1"}),
    ({"'; DROP TABLE memories; --": 0}, set()),
]
ITEMS: dict[str, dict[str, Any]] = {
    "1": {"kind": "a", "n": 1, "meta": {"lang": "pt", "size": 1}, "tags": ["x", "y"]}
    | {
        "flag": True,
        "none": None,
        "list": [{"a": 1, "b": 2}, 2],
        "a.b": 1,
        "$k": "v",
        "$gt": 1,
        "a'\"[0]": "x",
    },
    "2": {"kind": "a", "n": 2, "meta": {"lang": "en", "size": 9}, "tags": [], "flag": 1.0},
    "3": {"kind": "b", "n": 3, "meta": {"lang": "pt", "size": 2, "deep": {"x": 1}}, "tags": ["y", "x"]}
    | {"flag": "1", "list": [{"a": 2}, 2]},
}


def test_filters(store: BaseStore) -> None:
    for key, value in ITEMS.items():
        store.put(("docs", "x"), key, value)
    store.put(("docsx",), "other", ITEMS["1"])
    for wanted, keys in FILTERS:
        assert {item.key for item in store.search(("docs",), filter=wanted)} == keys, wanted
        assert {item.key for item in store.search(("docs",), filter=wanted, query="qualquer")} == keys, wanted
    with pytest.raises((ValueError, InputRefused)):
        store.search(("docs",), filter={"n": {"$in": [1]}})


def test_pages_hold_each_item_once(store: BaseStore) -> None:
    for number in range(25):
        store.put(("p", str(number % 3)), str(number), {"n": number, "even": number % 2 == 0})
    pages = [store.search(("p",), limit=10, offset=start) for start in (0, 10, 20, 30)]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert len({item.key for page in pages for item in page}) == 25
    even = [store.search(("p",), filter={"even": True}, limit=5, offset=start) for start in (0, 5, 10)]
    assert sorted(int(item.key) for page in even for item in page) == list(range(0, 25, 2))
    assert len(store.search(("p",))) == 10 and store.search(("p",), limit=0) == []
    assert store.search(("q",)) == []


TEXTS = {
    "food": {"text": "comida favorita lasanha"},
    "sport": {"text": "joga futebol aos domingos", "note": "lasanha"},
    "city": {"text": "mora em Lisboa"},
    "silent": {"other": "lasanha lasanha"},
}


def test_a_query_ranks_and_leaves_nothing_out(store: BaseStore) -> None:
    for key, value in TEXTS.items():
        store.put(("u",), key, value)
    found = store.search(("u",), query="lasanha")
    assert {item.key for item in found} == set(TEXTS) and found[0].key == "food"
    scores = [item.score for item in found if item.score is not None]
    assert scores == sorted(scores, reverse=True) and scores
    unscored = [item.key for item in found if item.score is None]
    assert "silent" in unscored and [item.key for item in found[len(scores) :]] == unscored
    assert [item.key for item in store.search(("u",), query="futebol domingos", limit=1)] == ["sport"]
    assert [item.key for item in store.search(("u",), query="lasanha", filter={"note": "lasanha"})] == [
        "sport"
    ]
    assert len(store.search(("u",), query="nada disto", limit=2)) == 2
    assert [item.score for item in store.search(("u",), query="")] == [None] * 4
    assert store.search(("v",), query="lasanha") == []


def test_index_says_by_what_an_item_is_found(store: BaseStore) -> None:
    store.put(("u",), "title", {"text": "outro", "meta": {"title": "quimera"}}, index=["meta.title"])
    store.put(("u",), "list", {"parts": [{"text": "zebra"}, {"text": "girafa"}]}, index=["parts[*].text"])
    store.put(("u",), "never", {"text": "quimera girafa"}, index=False)
    for query, key in (("quimera", "title"), ("girafa", "list"), ("zebra", "list")):
        assert store.search(("u",), query=query)[0].key == key
    silent = {item.key: item.score for item in store.search(("u",), query="quimera girafa")}
    assert silent["never"] is None and store.get(("u",), "never") is not None


def test_a_changed_item_is_found_by_what_it_says_now(store: BaseStore) -> None:
    store.put(("u",), "a", {"text": "gatos siameses"})
    store.put(("u",), "b", {"text": "carros vermelhos"})
    store.put(("u",), "a", {"text": "trens antigos"})
    assert store.search(("u",), query="trens antigos")[0].key == "a"
    assert store.search(("u",), query="carros")[0].key == "b"


NAMESPACES = [
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("b", "a", "f"),
    ("users", "1"),
    ("users", "2", "settings"),
]
LISTINGS: list[tuple[dict[str, Any], list[tuple[str, ...]]]] = [
    ({}, NAMESPACES),
    ({"prefix": ("a", "b")}, NAMESPACES[:4]),
    ({"suffix": ("f",)}, NAMESPACES[3:6]),
    ({"prefix": ("a",), "suffix": ("f",)}, NAMESPACES[3:5]),
    ({"prefix": ("a", "*", "f")}, NAMESPACES[3:5]),
    ({"suffix": ("*", "f")}, NAMESPACES[3:6]),
    ({"prefix": ("users", "*"), "suffix": ("settings",)}, NAMESPACES[7:]),
    ({"prefix": ("a", "b"), "max_depth": 3}, [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]),
    ({"max_depth": 1}, [("a",), ("b",), ("users",)]),
    ({"prefix": ("a", "b"), "limit": 2}, NAMESPACES[:2]),
    ({"prefix": ("a", "b"), "offset": 2}, NAMESPACES[2:4]),
    ({"prefix": ("a", "b", "c", "d", "e")}, []),
    ({"prefix": ("none",)}, []),
    ({"suffix": ("a", "b")}, []),
]


def test_namespaces(store: BaseStore) -> None:
    assert store.list_namespaces() == []
    for number, namespace in enumerate(NAMESPACES):
        store.put(namespace, f"id{number}", {"n": number})
        store.put(namespace, f"again{number}", {"n": number})
    for asked, expected in LISTINGS:
        assert store.list_namespaces(**asked) == expected, asked


@pytest.mark.parametrize("namespace", [(), ("a.b",), ("a", ""), ("langgraph", "x"), (1,), ("a\0",)])
async def test_bad_namespaces_are_refused(store: BaseStore, namespace: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", {})
    with pytest.raises(InvalidNamespaceError):
        await store.aput(namespace, "k", {})


def test_a_batch_reads_what_was_there_before_it_and_keeps_the_last(store: BaseStore) -> None:
    store.put(("a",), "k", {"n": 0})
    results = store.batch(
        [
            PutOp(("a",), "k", {"n": 1}),
            GetOp(("a",), "k"),
            PutOp(("b",), "new", {"n": 5}),
            SearchOp(("b",)),
            PutOp(("a",), "k", {"n": 2}),
            GetOp(("a",), "none"),
            ListNamespacesOp((MatchCondition("prefix", ("a",)),)),
            PutOp(("b",), "gone", {"n": 6}),
            PutOp(("b",), "gone", None),
        ]
    )
    put, before, _, searched, _, none, names, *_ = results
    assert (put, before.value, searched, none, names) == (None, {"n": 0}, [], None, [("a",)])  # type: ignore[union-attr]
    after = store.batch([GetOp(("a",), "k"), GetOp(("b",), "new"), GetOp(("b",), "gone")])
    assert [item and item.value for item in after] == [{"n": 2}, {"n": 5}, None]  # type: ignore[union-attr]


async def test_the_asynchronous_calls_do_the_same(store: BaseStore) -> None:
    await asyncio.gather(*(store.aput(("u", str(n)), "k", {"text": f"número {n}", "n": n}) for n in range(8)))
    found = await asyncio.gather(*(store.aget(("u", str(n)), "k") for n in range(8)))
    assert [item and item.value["n"] for item in found] == list(range(8))
    assert len(await store.asearch(("u",), filter={"n": {"$gte": 4}})) == 4
    assert (await store.asearch(("u",), query="número 3"))[0].score is not None
    assert await store.alist_namespaces(prefix=("u",), max_depth=1) == [("u",)]
    await store.adelete(("u", "0"), "k")
    assert await store.aget(("u", "0"), "k") is None
    assert (await store.abatch([GetOp(("u", "1"), "k")]))[0].value["n"] == 1  # type: ignore[union-attr]
    store.put(("u",), "blocking", {"n": 1})  # a loop of its own: the running one only waits
    assert store.get(("u",), "blocking") is not None


def test_threads_may_share_a_store(store: BaseStore) -> None:
    def work(number: int) -> None:
        for turn in range(3):
            store.put(("t", str(number)), str(turn), {"n": turn})
            assert store.get(("t", str(number)), str(turn)) is not None

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.search(("t",), limit=100)) == 12
